#!/usr/bin/python3
"""http.py HALTER: the server over raw sockets, TAP. A small site is made, with what people put
beside it: links out of it, a FIFO, hidden files, a folder without an index."""
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import traceback

halter = sys.argv[1]
work = tempfile.mkdtemp(prefix='halter-serve-')
page, guest = work + '/page', work + '/guest'
BODY = bytes(range(256)) * 40


def put(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as out:
        out.write(content)


def make_site():
    put(work + '/secret', b'secret')
    put(page + '/index.html', b'<!doctype html><title>x</title>')
    put(page + '/sub/a.js', b'export {};')
    put(page + '/sub/a b.txt', b'blank')
    put(page + '/m.wasm', b'\0asm')
    put(page + '/empty', b'')
    put(page + '/.hidden', b'hidden')
    put(guest + '/kernel', BODY)
    os.symlink('../secret', page + '/up')
    os.symlink(work + '/secret', page + '/absolute')
    os.symlink('sub/a.js', page + '/inside.js')
    os.symlink('/proc/self/exe', page + '/magic')
    os.symlink('..', page + '/parent')
    os.symlink('loop', page + '/loop')
    os.mkfifo(page + '/fifo')
    put(page + '/unreadable', b'x')
    os.chmod(page + '/unreadable', 0)


class Server:
    def __init__(self, *options):
        self.process = subprocess.Popen(
            [halter, 'serve', '--page', page, '--guest', guest, '--port', '0', *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.url = self.process.stdout.readline().decode().strip()
        match = re.fullmatch(r'http://\[?(.*?)\]?:(\d+)/', self.url)
        assert match, (self.url, self.process.stderr.read())
        self.address = match[1], int(match[2])

    def connect(self):
        return socket.create_connection(self.address, timeout=60)

    def raw(self, data):
        with self.connect() as peer:
            peer.sendall(data)
            return read_all(peer)

    def first_words(self, data):
        with self.connect() as peer:
            peer.settimeout(2)
            try:
                peer.sendall(data)
                peer.shutdown(socket.SHUT_WR)
                return peer.recv(100)
            except OSError: # refused before all of it was said, or waited for until it is idle too long
                return b''

    def ask(self, target, *headers, method='GET', host='localhost'):
        lines = [f'{method} {target} HTTP/1.1', f'Host: {host}', 'Connection: close', *headers]
        return Answer(self.raw('\r\n'.join([*lines, '', '']).encode('latin-1')))

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        status = self.process.wait(60)
        return status, self.process.stderr.read().decode()


def read_all(peer):
    parts = []
    try:
        while part := peer.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b''.join(parts)


class Answer:
    def __init__(self, data):
        head, _, self.body = data.partition(b'\r\n\r\n')
        lines = head.decode('latin-1').split('\r\n')
        self.status = int(lines[0].split()[1]) if lines[0] else 0
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(':')
            self.headers[name.lower()] = value.strip()


def equal(got, wanted):
    assert got == wanted, f'got {got!r}, not {wanted!r}'


def files_come_with_their_types():
    for path, kind, body in (('/', 'text/html; charset=utf-8', b'<!doctype html><title>x</title>'),
                             ('/sub/a.js', 'text/javascript; charset=utf-8', b'export {};'),
                             ('/sub/a%20b.txt', 'text/plain; charset=utf-8', b'blank'),
                             ('/m.wasm', 'application/wasm', b'\0asm'),
                             ('/m.wasm?v=../1', 'application/wasm', b'\0asm'),
                             ('/empty', 'application/octet-stream', b''),
                             ('/inside.js', 'text/javascript; charset=utf-8', b'export {};'),
                             ('/guest/kernel', 'application/octet-stream', BODY)):
        answer = server.ask(path)
        equal((answer.status, answer.headers['content-type'], answer.body), (200, kind, body))
        equal(answer.headers['content-length'], str(len(body)))


def every_answer_isolates_the_page():
    for path in '/', '/sub/a.js', '/none', '/../x', '/guest/kernel':
        headers = server.ask(path).headers
        equal(headers['cross-origin-opener-policy'], 'same-origin')
        equal(headers['cross-origin-embedder-policy'], 'require-corp')
        equal(headers['cross-origin-resource-policy'], 'same-origin')
        equal(headers['x-content-type-options'], 'nosniff')
        assert "default-src 'none'" in headers['content-security-policy']
        assert "'wasm-unsafe-eval'" in headers['content-security-policy']
        assert "'unsafe-eval'" not in headers['content-security-policy']
        assert 'access-control-allow-origin' not in headers


def head_is_get_without_the_body():
    get, head = server.ask('/guest/kernel'), server.ask('/guest/kernel', method='HEAD')
    equal((head.status, head.body), (200, b''))
    for name in 'content-length', 'content-type', 'etag', 'last-modified', 'accept-ranges':
        equal(head.headers[name], get.headers[name])


def other_methods_are_refused():
    for method in 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'BREW':
        answer = server.ask('/', method=method)
        equal((answer.status, answer.headers.get('allow')), (405, 'GET, HEAD'))
    answer = server.ask('/', 'Content-Length: 5', '', 'hello', method='POST')
    equal(answer.status, 405)


def folders_are_not_listed():
    for path in '/sub', '/sub/', '/guest', '/guest/', '/guest/kernel/', '/sub/a.js/':
        answer = server.ask(path)
        equal(answer.status, 404)
        assert b'a.js' not in answer.body


def there_is_no_way_out():
    for path in ('/up', '/absolute', '/magic', '/parent/secret', '/loop', '/fifo', '/.hidden', '/../secret', '/sub/../../secret',
                 '/%2e%2e/secret', '/..%2fsecret', '/sub/..%5c..%5csecret', '//secret', '/guest/../secret',
                 '/%00', '/up%00.js', '/index.html%00', '/%zz', '/%', '/etc/passwd', 'secret', '*',
                 'http://localhost/secret', '/' + 'a' * 3000, '/' + 'a/' * 400, '/guest/../index.html'):
        answer = server.ask(path)
        assert answer.status in (400, 404, 414), f'{path[:60]}: {answer.status}'
        assert b'secret' not in answer.body and b'hidden' not in answer.body, path
    if os.getuid():
        equal(server.ask('/unreadable').status, 404)


def ranges_are_served():
    for asked, first, last in (('0-0', 0, 0), ('5-9', 5, 9), ('10000-', 10000, 10239),
                               ('-1', 10239, 10239), ('100-99999', 100, 10239), ('-99999', 0, 10239)):
        answer = server.ask('/guest/kernel', 'Range: bytes=' + asked)
        equal((answer.status, answer.headers['content-range']), (206, f'bytes {first}-{last}/10240'))
        equal(answer.body, BODY[first:last + 1])
        equal(answer.headers['content-length'], str(last - first + 1))


def ranges_outside_are_refused_and_odd_ones_ignored():
    for asked in '10240-', '-0', '99999999999999999999-':
        answer = server.ask('/guest/kernel', 'Range: bytes=' + asked)
        equal((answer.status, answer.headers['content-range']), (416, 'bytes */10240'))
    equal(server.ask('/empty', 'Range: bytes=0-').status, 416)
    for asked in 'bytes=0-1,5-6', 'bytes=9-1', 'lines=0-1', 'bytes=', 'bytes=a-':
        answer = server.ask('/guest/kernel', 'Range: ' + asked)
        equal((answer.status, answer.body), (200, BODY))
    equal(server.ask('/guest/kernel', 'Range: bytes=0-1', method='HEAD').status, 200)


def what_is_known_is_not_sent_again():
    known = server.ask('/guest/kernel').headers
    for header in ('If-None-Match: ' + known['etag'], 'If-None-Match: "x", W/' + known['etag'], 'If-None-Match: *',
                   'If-Modified-Since: ' + known['last-modified']):
        answer = server.ask('/guest/kernel', header)
        equal((answer.status, answer.body, answer.headers['etag']), (304, b'', known['etag']))
    for header in 'If-None-Match: "x"', 'If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT', 'If-Modified-Since: x':
        equal(server.ask('/guest/kernel', header).status, 200)
    both = ['If-None-Match: "x"', 'If-Modified-Since: ' + known['last-modified']]
    equal(server.ask('/guest/kernel', *both).status, 200)


def a_change_is_noticed():
    path = guest + '/changing'
    put(path, b'one')
    before = server.ask('/guest/changing').headers
    put(path, b'two')
    after = server.ask('/guest/changing', 'If-None-Match: ' + before['etag'])
    equal((after.status, after.body), (200, b'two'))
    equal(server.ask('/guest/changing', 'If-Match: ' + before['etag']).status, 412)
    equal(server.ask('/guest/changing', 'If-Match: ' + after.headers['etag']).status, 200)
    equal(server.ask('/guest/changing', 'If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT').status, 412)
    ranged = server.ask('/guest/changing', 'Range: bytes=0-0', 'If-Range: ' + before['etag'])
    equal((ranged.status, ranged.body), (200, b'two'))
    ranged = server.ask('/guest/changing', 'Range: bytes=0-0', 'If-Range: ' + after.headers['etag'])
    equal((ranged.status, ranged.body), (206, b't'))


def a_connection_serves_many_requests():
    one = b'GET /sub/a.js HTTP/1.1\r\nHost: localhost\r\n\r\n'
    answer = server.raw(one * 20 + one.replace(b'\r\n\r\n', b'\r\nConnection: close\r\n\r\n'))
    equal(answer.count(b'HTTP/1.1 200 OK'), 21)
    equal(answer.count(b'export {};'), 21)


def pages_elsewhere_cannot_borrow_the_address():
    for host in 'evil.example', 'localhost.evil.example', '127.0.0.1.evil.example:80', '10.0.0.1':
        answer = server.ask('/', host=host)
        equal(answer.status, 421)
        assert b'doctype' not in answer.body
    for host in 'localhost', 'LOCALHOST:1', '127.0.0.1', '[::1]:8086':
        equal(server.ask('/', host=host).status, 200)


def garbage_gets_an_error_or_a_closed_door():
    for data in (b'', b'\r\n', b'GET\r\n\r\n', b'GET / HTTP/9.9\r\n\r\n', b'GET / HTTP/1.1\r\n\r\n',
                 b'GET / HTTP/1.1\r\nHost: localhost\r\nX: ' + b'x' * 100000 + b'\r\n\r\n',
                 b'GET /' + b'x' * 100000 + b' HTTP/1.1\r\nHost: localhost\r\n\r\n',
                 b'POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
                 b'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n',
                 b'GET / HTTP/1.1\r\nHost : localhost\r\n\r\n', b'GET / HTTP/1.1\nHost: localhost\n\n'):
        answer = server.first_words(data)
        assert not answer or re.match(rb'HTTP/1\.[01] (200|4\d\d|505) ', answer), answer[:80]
    with server.connect() as peer:
        peer.sendall(b'\0' * 5000) # waited for, until it is idle for too long
        equal(server.ask('/').status, 200)


def many_and_slow_clients_do_not_hold_it_up():
    slow = [server.connect() for _ in range(100)]
    for peer in slow:
        peer.sendall(b'GET /guest/kernel HT')
    equal(server.ask('/guest/kernel').body, BODY)
    for peer in slow:
        peer.sendall(b'TP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    for peer in slow:
        equal(Answer(read_all(peer)).status, 200)
        peer.close()


def a_client_that_leaves_in_the_middle_is_forgotten():
    put(guest + '/large', b'x' * (8 << 20))
    for _ in range(20):
        with server.connect() as peer:
            peer.sendall(b'GET /guest/large HTTP/1.1\r\nHost: localhost\r\n\r\n')
            peer.recv(1000)
    equal(len(server.ask('/guest/large').body), 8 << 20)


def signals_end_it_cleanly():
    for how in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        another = Server()
        with another.connect(), another.connect() as peer: # open connections do not keep it
            peer.sendall(b'GET / HT')
            equal(another.end(how), (0, ''))


def a_port_in_use_is_said():
    run = subprocess.run([halter, 'serve', '--page', page, '--port', str(server.address[1])],
                         capture_output=True, timeout=60, text=True)
    assert run.returncode == 6 and 'Address already in use' in run.stderr and '--port 0' in run.stderr, run


def mistakes_are_said():
    for options, status, words in ((['--port', '70000'], 2, '70000'), (['--address', 'here'], 6, '"here" is no IP address'),
                                   (['--page', work + '/none'], 6, '/none'), (['x'], 2, 'only options'),
                                   (['--prot', '1'], 2, 'did you mean --port'), (['--guest', work + '/secret'], 6, 'secret')):
        run = subprocess.run([halter, 'serve', '--page', page, *options], capture_output=True, timeout=60, text=True)
        assert run.returncode == status and words in run.stderr, (options, run)


def another_address_is_said_and_served():
    another = Server('--address', '0.0.0.0', '--verbose')
    another.address = '127.0.0.1', another.address[1]
    equal(another.ask('/', host='anything.example').status, 200)
    equal(another.ask('/%0a\x1b').status, 400)
    status, said = another.end()
    equal(status, 0)
    assert 'everybody' in said and '200 GET /\n' in said and '\x1b' not in said, said


def ipv6_is_served():
    another = Server('--address', '::1')
    equal(another.ask('/', host='[::1]:1').status, 200)
    equal(another.end()[0], 0)


make_site()
server = Server()
count = failed = 0
for name, case in [(n, c) for n, c in list(globals().items())
                   if callable(c) and c.__module__ == '__main__' and n not in
                   ('put', 'make_site', 'Server', 'Answer', 'read_all', 'equal')]:
    count += 1
    try:
        case()
        print(f'ok {count} - {name}')
    except Exception:
        failed += 1
        print(f'not ok {count} - {name}')
        print(''.join('# ' + line + '\n' for line in traceback.format_exc().splitlines()), end='')
status, said = server.end()
count += 1
print('ok' if (status, said) == (0, '') else 'not ok', count, '- it ended cleanly and said nothing')
print(f'1..{count}')
subprocess.run(['rm', '-rf', work])
