/*
 * URL against a table of what the URL Standard's parser gives: inputs with their base and the href
 * they come to, "" where they are no URL; then what setting each part of a URL changes.
 */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// clang-format off
static const char *const parsed[][3] = {
    {"http://example.com", "", "http://example.com/"},
    {"HTTP://EXAMPLE.com/%7Efoo/../bar?q#f", "", "http://example.com/bar?q#f"},
    {"http://user:pass@foo:21/bar;par?b#c", "", "http://user:pass@foo:21/bar;par?b#c"},
    {"http:foo.com", "", "http://foo.com/"},
    {"http:/foo.com", "", "http://foo.com/"},
    {"http:\\\\foo\\bar", "", "http://foo/bar"},
    {"https://a/b/c/../../d/./e/..", "", "https://a/d/"},
    {"https://a/b/c/%2e%2E/d/%2e", "", "https://a/b/d/"},
    {"http://a.b:80/", "", "http://a.b/"},
    {"https://a.b:443/", "", "https://a.b/"},
    {"https://a.b:444/", "", "https://a.b:444/"},
    {"http://a.b:/", "", "http://a.b/"},
    {"http://a.b:99999/", "", ""},
    {"http://a.b:x/", "", ""},
    {"http://[::1]/", "", "http://[::1]/"},
    {"http://[2001:db8::ff00:42:8329]/", "", "http://[2001:db8::ff00:42:8329]/"},
    {"http://[::ffff:1.2.3.4]/", "", "http://[::ffff:102:304]/"},
    {"http://[1:2:3:4:5:6:7:8]/", "", "http://[1:2:3:4:5:6:7:8]/"},
    {"http://[1:2:3:4:5:6:7]/", "", ""},
    {"http://[::1", "", ""},
    {"http://[1::2::3]/", "", ""},
    {"http://[::1.2.3]/", "", ""},
    {"http://[::01.2.3.4]/", "", ""},
    {"http://[0:0:1:0:0:0:0:1]/", "", "http://[0:0:1::1]/"},
    {"http://[fe80::1%25eth0]/", "", ""},
    {"http://127.0.0.1/", "", "http://127.0.0.1/"},
    {"http://0x7f.1/", "", "http://127.0.0.1/"},
    {"http://0177.0.0.1/", "", "http://127.0.0.1/"},
    {"http://2130706433/", "", "http://127.0.0.1/"},
    {"http://256.1/", "", ""},
    {"http://256/", "", "http://0.0.1.0/"},
    {"http://1.2.3.4.5/", "", ""},
    {"http://1.2.3.256/", "", ""},
    {"http://0x/", "", "http://0.0.0.0/"},
    {"http://1.2.3.08/", "", ""},
    {"http://1.2.3.4./", "", "http://1.2.3.4/"},
    {"http://foo.0x4/", "", ""},
    {"http://foo.2.com/", "", "http://foo.2.com/"},
    {"http://a b/", "", ""},
    {"http://a%20b/", "", ""},
    {"http://a%41b/", "", "http://aab/"},
    {"http://a<b/", "", ""},
    {"http://a|b/", "", ""},
    {"http://EXAMPLE%2ecom/", "", "http://example.com/"},
    {"http://ex%00ample/", "", ""},
    {"http://\303\274mlaut.de/", "", "http://xn--mlaut-jva.de/"},
    {"http://b\303\274cher.example/\303\244?\303\266#\303\274", "", "http://xn--bcher-kva.example/%C3%A4?%C3%B6#%C3%BC"},
    {"http://\346\227\245\346\234\254\350\252\236.jp/", "", "http://xn--wgv71a119e.jp/"},
    {"http://fa\303\237.de/", "", "http://xn--fa-hia.de/"},
    {"http://xn--mnchen-3ya.de/", "", "http://xn--mnchen-3ya.de/"},
    {"http://xn--a/", "", ""},
    {"http://XN--MNCHEN-3YA.de/", "", "http://xn--mnchen-3ya.de/"},
    {"http://ex\302\255ample.com/", "", "http://example.com/"},
    {"http://\357\275\205\357\275\230.com/", "", "http://ex.com/"},
    {"http://a\343\200\202b/", "", "http://a.b/"},
    {"http://\342\230\203.net/", "", "http://xn--n3h.net/"},
    {"http://a..b/", "", "http://a..b/"},
    {"http://.a/", "", "http://.a/"},
    {"http://a_b/", "", "http://a_b/"},
    {"http://-a-/", "", "http://-a-/"},
    {"mailto:x@y.z?subject=a b", "", "mailto:x@y.z?subject=a%20b"},
    {"data:text/plain,hello world#f g", "", "data:text/plain,hello world#f%20g"},
    {"javascript:alert(1) ", "", "javascript:alert(1)"},
    {"blob:https://a.b/uuid", "", "blob:https://a.b/uuid"},
    {"about:blank", "", "about:blank"},
    {"file:///etc/passwd", "", "file:///etc/passwd"},
    {"file:/c:/windows/../x", "", "file:///c:/x"},
    {"file:///C|/a/..", "", "file:///C:/"},
    {"file://host/share/x", "", "file://host/share/x"},
    {"file://localhost/x", "", "file:///x"},
    {"file:c:\\foo\\bar", "", "file:///c:/foo/bar"},
    {"file:..", "", "file:///"},
    {"file:///C:/../..", "", "file:///C:/"},
    {"ws://a:80/x", "", "ws://a/x"},
    {"wss://a:443/x", "", "wss://a/x"},
    {"ftp://a:21/x", "", "ftp://a/x"},
    {"foo://bar/baz", "", "foo://bar/baz"},
    {"foo://bar:80/baz?q", "", "foo://bar:80/baz?q"},
    {"foo:/bar", "", "foo:/bar"},
    {"foo:bar baz", "", "foo:bar baz"},
    {"foo://b ar/", "", ""},
    {"foo:///x/../y", "", "foo:///y"},
    {"foo://\303\244/", "", "foo://%C3%A4/"},
    {"foo:/..//x", "", "foo:/.//x"},
    {"web+demo:/.//not-a-host/", "", "web+demo:/.//not-a-host/"},
    {"http://a/?q='\"<>`{}|", "", "http://a/?q=%27%22%3C%3E`{}|"},
    {"http://a/#'\"<>`{}|", "", "http://a/#'%22%3C%3E%60{}|"},
    {"http://a/p'\"<>`{}|^", "", "http://a/p'%22%3C%3E%60%7B%7D|%5E"},
    {"http://u'\"<>`{}|^:p;=@a/", "", "http://u'%22%3C%3E%60%7B%7D%7C%5E:p%3B%3D@a/"},
    {"http://a/\360\237\230\200", "", "http://a/%F0%9F%98%80"},
    {"http://a/%zz%", "", "http://a/%zz%"},
    {"http://a/ b\011c", "", "http://a/%20bc"},
    {"  http://a/  ", "", "http://a/"},
    {"http://a", "", "http://a/"},
    {"/b", "", ""},
    {"//foo", "", ""},
    {"/abs", "", ""},
    {"rel", "", ""},
    {"./rel", "", ""},
    {"../rel", "", ""},
    {"?q", "", ""},
    {"#h", "", ""},
    {"http://@/", "", ""},
    {"http://a@/", "", ""},
    {"http://:80/", "", ""},
    {"http:///x", "", "http://x/"},
    {"http://u@", "", ""},
    {"http://a:b@c:d@e/", "", "http://a:b%40c%3Ad@e/"},
    {"http://a@b@c/", "", "http://a%40b@c/"},
    {"http://a/b?c?d#e#f", "", "http://a/b?c?d#e#f"},
    {"http://a/;x", "", "http://a/;x"},
    {"http://a//b///c", "", "http://a//b///c"},
    {"http://a/b/../../../c", "", "http://a/c"},
    {"http://a/.%2e/b", "", "http://a/b"},
    {"http://a/%2e%2e%2fb", "", "http://a/%2e%2e%2fb"},
    {"non-special://[::1]/x", "", "non-special://[::1]/x"},
    {"non-special://[:x]/", "", ""},
    {"http://1e2/", "", "http://1e2/"},
    {"http://1_000/", "", "http://1_000/"},
    {"http://\357\274\220\357\274\270\357\275\203\357\274\220\357\274\216\357\274\220\357\274\222\357\274\225\357\274\220\357\274\216\357\274\220\357\274\221/", "", "http://192.168.0.1/"},
    {"http://%30%78%63%30%2e%30%32%35%30.01", "", "http://192.168.0.1/"},
    {"http://ho st/", "", ""},
    {"http://h\011ost/", "", "http://host/"},
    {"ftp:/x", "", "ftp://x/"},
    {"https:x", "", "https://x/"},
    {"https:/x/y", "", "https://x/y"},
    {"http:?q", "", ""},
    {"foo:?q", "", "foo:?q"},
    {"foo:#h", "", "foo:#h"},
    {"a:b:c", "", "a:b:c"},
    {"1http://x", "", ""},
    {"+a:x", "", ""},
    {"http", "", ""},
    {":", "", ""},
    {"//", "", ""},
    {"//[::1]/x", "", ""},
    {"http://a.b.c.d.e.f.g/", "", "http://a.b.c.d.e.f.g/"},
    {"http://a/?%F0%9F%98%80=%ff&x", "", "http://a/?%F0%9F%98%80=%ff&x"},
    {"http://m\303\274nchen.de:8080/\303\244/\303\266?\303\274=\303\237#\303\251", "", "http://xn--mnchen-3ya.de:8080/%C3%A4/%C3%B6?%C3%BC=%C3%9F#%C3%A9"},
    {"http:foo.com", "http://base.example/a/b/c?q#h", "http://base.example/a/b/foo.com"},
    {"http:/foo.com", "http://base.example/a/b/c?q#h", "http://base.example/foo.com"},
    {"http:\\\\foo\\bar", "http://base.example/a/b/c?q#h", "http://foo/bar"},
    {"https://a/b/c/../../d/./e/..", "http://base.example/a/b/c?q#h", "https://a/d/"},
    {"https://a/b/c/%2e%2E/d/%2e", "http://base.example/a/b/c?q#h", "https://a/b/d/"},
    {"https://a.b:443/", "http://base.example/a/b/c?q#h", "https://a.b/"},
    {"https://a.b:444/", "http://base.example/a/b/c?q#h", "https://a.b:444/"},
    {"mailto:x@y.z?subject=a b", "http://base.example/a/b/c?q#h", "mailto:x@y.z?subject=a%20b"},
    {"data:text/plain,hello world#f g", "http://base.example/a/b/c?q#h", "data:text/plain,hello world#f%20g"},
    {"javascript:alert(1) ", "http://base.example/a/b/c?q#h", "javascript:alert(1)"},
    {"blob:https://a.b/uuid", "http://base.example/a/b/c?q#h", "blob:https://a.b/uuid"},
    {"about:blank", "http://base.example/a/b/c?q#h", "about:blank"},
    {"file:///etc/passwd", "http://base.example/a/b/c?q#h", "file:///etc/passwd"},
    {"file:/c:/windows/../x", "http://base.example/a/b/c?q#h", "file:///c:/x"},
    {"file:///C|/a/..", "http://base.example/a/b/c?q#h", "file:///C:/"},
    {"file://host/share/x", "http://base.example/a/b/c?q#h", "file://host/share/x"},
    {"file://localhost/x", "http://base.example/a/b/c?q#h", "file:///x"},
    {"file:c:\\foo\\bar", "http://base.example/a/b/c?q#h", "file:///c:/foo/bar"},
    {"file:..", "http://base.example/a/b/c?q#h", "file:///"},
    {"file:///C:/../..", "http://base.example/a/b/c?q#h", "file:///C:/"},
    {"ws://a:80/x", "http://base.example/a/b/c?q#h", "ws://a/x"},
    {"wss://a:443/x", "http://base.example/a/b/c?q#h", "wss://a/x"},
    {"ftp://a:21/x", "http://base.example/a/b/c?q#h", "ftp://a/x"},
    {"foo://bar/baz", "http://base.example/a/b/c?q#h", "foo://bar/baz"},
    {"foo://bar:80/baz?q", "http://base.example/a/b/c?q#h", "foo://bar:80/baz?q"},
    {"foo:/bar", "http://base.example/a/b/c?q#h", "foo:/bar"},
    {"foo:bar baz", "http://base.example/a/b/c?q#h", "foo:bar baz"},
    {"foo://b ar/", "http://base.example/a/b/c?q#h", ""},
    {"foo:///x/../y", "http://base.example/a/b/c?q#h", "foo:///y"},
    {"foo://\303\244/", "http://base.example/a/b/c?q#h", "foo://%C3%A4/"},
    {"foo:/..//x", "http://base.example/a/b/c?q#h", "foo:/.//x"},
    {"web+demo:/.//not-a-host/", "http://base.example/a/b/c?q#h", "web+demo:/.//not-a-host/"},
    {"  http://a/  ", "http://base.example/a/b/c?q#h", "http://a/"},
    {"/b", "http://base.example/a/b/c?q#h", "http://base.example/b"},
    {"//foo", "http://base.example/a/b/c?q#h", "http://foo/"},
    {"/abs", "http://base.example/a/b/c?q#h", "http://base.example/abs"},
    {"rel", "http://base.example/a/b/c?q#h", "http://base.example/a/b/rel"},
    {"./rel", "http://base.example/a/b/c?q#h", "http://base.example/a/b/rel"},
    {"../rel", "http://base.example/a/b/c?q#h", "http://base.example/a/rel"},
    {"?q", "http://base.example/a/b/c?q#h", "http://base.example/a/b/c?q"},
    {"#h", "http://base.example/a/b/c?q#h", "http://base.example/a/b/c?q#h"},
    {"non-special://[::1]/x", "http://base.example/a/b/c?q#h", "non-special://[::1]/x"},
    {"non-special://[:x]/", "http://base.example/a/b/c?q#h", ""},
    {"ftp:/x", "http://base.example/a/b/c?q#h", "ftp://x/"},
    {"https:x", "http://base.example/a/b/c?q#h", "https://x/"},
    {"https:/x/y", "http://base.example/a/b/c?q#h", "https://x/y"},
    {"http:?q", "http://base.example/a/b/c?q#h", "http://base.example/a/b/c?q"},
    {"foo:?q", "http://base.example/a/b/c?q#h", "foo:?q"},
    {"foo:#h", "http://base.example/a/b/c?q#h", "foo:#h"},
    {"a:b:c", "http://base.example/a/b/c?q#h", "a:b:c"},
    {"1http://x", "http://base.example/a/b/c?q#h", "http://base.example/a/b/1http://x"},
    {"+a:x", "http://base.example/a/b/c?q#h", "http://base.example/a/b/+a:x"},
    {"http", "http://base.example/a/b/c?q#h", "http://base.example/a/b/http"},
    {":", "http://base.example/a/b/c?q#h", "http://base.example/a/b/:"},
    {"//", "http://base.example/a/b/c?q#h", ""},
    {"//[::1]/x", "http://base.example/a/b/c?q#h", "http://[::1]/x"},
    {"file:///etc/passwd", "file:///C:/x/y", "file:///etc/passwd"},
    {"file:/c:/windows/../x", "file:///C:/x/y", "file:///c:/x"},
    {"file:///C|/a/..", "file:///C:/x/y", "file:///C:/"},
    {"file://host/share/x", "file:///C:/x/y", "file://host/share/x"},
    {"file://localhost/x", "file:///C:/x/y", "file:///x"},
    {"file:c:\\foo\\bar", "file:///C:/x/y", "file:///c:/foo/bar"},
    {"file:..", "file:///C:/x/y", "file:///C:/"},
    {"file:///C:/../..", "file:///C:/x/y", "file:///C:/"},
    {"/b", "file:///C:/x/y", "file:///C:/b"},
    {"//foo", "file:///C:/x/y", "file://foo/"},
    {"/abs", "file:///C:/x/y", "file:///C:/abs"},
    {"./rel", "file:///C:/x/y", "file:///C:/x/rel"},
    {"../rel", "file:///C:/x/y", "file:///C:/rel"},
    {"?q", "file:///C:/x/y", "file:///C:/x/y?q"},
    {"#h", "file:///C:/x/y", "file:///C:/x/y#h"},
    {"//", "file:///C:/x/y", "file:///"},
    {"//[::1]/x", "file:///C:/x/y", "file://[::1]/x"},
    {"?q", "mailto:x@y", ""},
    {"#h", "mailto:x@y", "mailto:x@y#h"},
    {"/b", "foo:/a/b", "foo:/b"},
    {"//foo", "foo:/a/b", "foo://foo"},
    {"/abs", "foo:/a/b", "foo:/abs"},
    {"./rel", "foo:/a/b", "foo:/a/rel"},
    {"../rel", "foo:/a/b", "foo:/rel"},
    {"?q", "foo:/a/b", "foo:/a/b?q"},
    {"//", "foo:/a/b", "foo://"},
    {"//[::1]/x", "foo:/a/b", "foo://[::1]/x"},
};

/* The URL, the part, its new value, the URL then. */
static const char *const changed[][4] = {
    {"http://u:p@h:8/a/b?c#d", "protocol", "https", "https://u:p@h:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "protocol", "http:", "http://u:p@h:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "protocol", "foo", "http://u:p@h:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "protocol", "1", "http://u:p@h:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "protocol", "ws://x", "ws://u:p@h:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "protocol", "file", "http://u:p@h:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "username", "u", "http://u:p@h:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "username", "a b:@/", "http://a%20b%3A%40%2F:p@h:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "username", "", "http://:p@h:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "password", "p", "http://u:p@h:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "password", "\303\274", "http://u:%C3%BC@h:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "host", "x", "http://u:p@x:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "host", "x:81", "http://u:p@x:81/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "host", "x:80", "http://u:p@x/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "host", "", "http://u:p@h:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "host", "[::1]:9", "http://u:p@[::1]:9/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "host", "a b", "http://u:p@h:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "host", "x/y", "http://u:p@x:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "host", "x:y", "http://u:p@x:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "host", "x:99999", "http://u:p@x:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "host", "x?y", "http://u:p@x:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "hostname", "y", "http://u:p@y:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "hostname", "y:1", "http://u:p@h:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "hostname", "", "http://u:p@h:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "hostname", "0x7f", "http://u:p@0.0.0.127:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "hostname", "a#b", "http://u:p@a:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "port", "81", "http://u:p@h:81/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "port", "80", "http://u:p@h/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "port", "", "http://u:p@h/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "port", "x", "http://u:p@h:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "port", "8y", "http://u:p@h:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "port", "99999", "http://u:p@h:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "port", " 9", "http://u:p@h:8/a/b?c#d"},
    {"http://u:p@h:8/a/b?c#d", "pathname", "/n", "http://u:p@h:8/n?c#d"},
    {"http://u:p@h:8/a/b?c#d", "pathname", "n", "http://u:p@h:8/n?c#d"},
    {"http://u:p@h:8/a/b?c#d", "pathname", "", "http://u:p@h:8/?c#d"},
    {"http://u:p@h:8/a/b?c#d", "pathname", "../x", "http://u:p@h:8/x?c#d"},
    {"http://u:p@h:8/a/b?c#d", "pathname", "a?b#c", "http://u:p@h:8/a%3Fb%23c?c#d"},
    {"http://u:p@h:8/a/b?c#d", "pathname", "\\w\\", "http://u:p@h:8/w/?c#d"},
    {"http://u:p@h:8/a/b?c#d", "search", "?s", "http://u:p@h:8/a/b?s#d"},
    {"http://u:p@h:8/a/b?c#d", "search", "s=1 2'", "http://u:p@h:8/a/b?s=1%202%27#d"},
    {"http://u:p@h:8/a/b?c#d", "search", "", "http://u:p@h:8/a/b#d"},
    {"http://u:p@h:8/a/b?c#d", "search", "?", "http://u:p@h:8/a/b?#d"},
    {"http://u:p@h:8/a/b?c#d", "hash", "#n", "http://u:p@h:8/a/b?c#n"},
    {"http://u:p@h:8/a/b?c#d", "hash", "n m", "http://u:p@h:8/a/b?c#n%20m"},
    {"http://u:p@h:8/a/b?c#d", "hash", "", "http://u:p@h:8/a/b?c"},
    {"http://u:p@h:8/a/b?c#d", "hash", "#", "http://u:p@h:8/a/b?c#"},
    {"file:///a/b", "protocol", "https", "file:///a/b"},
    {"file:///a/b", "protocol", "http:", "file:///a/b"},
    {"file:///a/b", "protocol", "foo", "file:///a/b"},
    {"file:///a/b", "protocol", "1", "file:///a/b"},
    {"file:///a/b", "protocol", "ws://x", "file:///a/b"},
    {"file:///a/b", "protocol", "file", "file:///a/b"},
    {"file:///a/b", "host", "x", "file://x/a/b"},
    {"file:///a/b", "host", "x:81", "file:///a/b"},
    {"file:///a/b", "host", "x:80", "file:///a/b"},
    {"file:///a/b", "host", "", "file:///a/b"},
    {"file:///a/b", "host", "[::1]:9", "file:///a/b"},
    {"file:///a/b", "host", "a b", "file:///a/b"},
    {"file:///a/b", "host", "x/y", "file://x/a/b"},
    {"file:///a/b", "host", "x:y", "file:///a/b"},
    {"file:///a/b", "host", "x:99999", "file:///a/b"},
    {"file:///a/b", "host", "x?y", "file://x/a/b"},
    {"file:///a/b", "hostname", "y", "file://y/a/b"},
    {"file:///a/b", "hostname", "0x7f", "file://0.0.0.127/a/b"},
    {"file:///a/b", "hostname", "a#b", "file://a/a/b"},
    {"file:///a/b", "port", "81", "file:///a/b"},
    {"file:///a/b", "port", "80", "file:///a/b"},
    {"file:///a/b", "port", "", "file:///a/b"},
    {"file:///a/b", "port", "x", "file:///a/b"},
    {"file:///a/b", "port", "8y", "file:///a/b"},
    {"file:///a/b", "port", "99999", "file:///a/b"},
    {"file:///a/b", "port", " 9", "file:///a/b"},
    {"file:///a/b", "pathname", "/n", "file:///n"},
    {"file:///a/b", "pathname", "n", "file:///n"},
    {"file:///a/b", "pathname", "", "file:///"},
    {"file:///a/b", "pathname", "../x", "file:///x"},
    {"file:///a/b", "pathname", "a?b#c", "file:///a%3Fb%23c"},
    {"file:///a/b", "pathname", "\\w\\", "file:///w/"},
    {"file:///a/b", "search", "?s", "file:///a/b?s"},
    {"file:///a/b", "search", "s=1 2'", "file:///a/b?s=1%202%27"},
    {"file:///a/b", "search", "?", "file:///a/b?"},
    {"file:///a/b", "hash", "#n", "file:///a/b#n"},
    {"file:///a/b", "hash", "n m", "file:///a/b#n%20m"},
    {"file:///a/b", "hash", "#", "file:///a/b#"},
    {"mailto:a@b", "protocol", "https", "mailto:a@b"},
    {"mailto:a@b", "protocol", "http:", "mailto:a@b"},
    {"mailto:a@b", "protocol", "foo", "foo:a@b"},
    {"mailto:a@b", "protocol", "1", "mailto:a@b"},
    {"mailto:a@b", "protocol", "ws://x", "mailto:a@b"},
    {"mailto:a@b", "protocol", "file", "mailto:a@b"},
    {"mailto:a@b", "host", "x", "mailto:a@b"},
    {"mailto:a@b", "host", "x:81", "mailto:a@b"},
    {"mailto:a@b", "host", "x:80", "mailto:a@b"},
    {"mailto:a@b", "host", "", "mailto:a@b"},
    {"mailto:a@b", "host", "[::1]:9", "mailto:a@b"},
    {"mailto:a@b", "host", "a b", "mailto:a@b"},
    {"mailto:a@b", "host", "x/y", "mailto:a@b"},
    {"mailto:a@b", "host", "x:y", "mailto:a@b"},
    {"mailto:a@b", "host", "x:99999", "mailto:a@b"},
    {"mailto:a@b", "host", "x?y", "mailto:a@b"},
    {"mailto:a@b", "port", "81", "mailto:a@b"},
    {"mailto:a@b", "port", "80", "mailto:a@b"},
    {"mailto:a@b", "port", "", "mailto:a@b"},
    {"mailto:a@b", "port", "x", "mailto:a@b"},
    {"mailto:a@b", "port", "8y", "mailto:a@b"},
    {"mailto:a@b", "port", "99999", "mailto:a@b"},
    {"mailto:a@b", "port", " 9", "mailto:a@b"},
    {"mailto:a@b", "search", "?s", "mailto:a@b?s"},
    {"mailto:a@b", "search", "s=1 2'", "mailto:a@b?s=1%202'"},
    {"mailto:a@b", "search", "?", "mailto:a@b?"},
    {"mailto:a@b", "hash", "#n", "mailto:a@b#n"},
    {"mailto:a@b", "hash", "n m", "mailto:a@b#n%20m"},
    {"mailto:a@b", "hash", "#", "mailto:a@b#"},
    {"foo:///a", "protocol", "https", "foo:///a"},
    {"foo:///a", "protocol", "http:", "foo:///a"},
    {"foo:///a", "protocol", "foo", "foo:///a"},
    {"foo:///a", "protocol", "1", "foo:///a"},
    {"foo:///a", "protocol", "ws://x", "foo:///a"},
    {"foo:///a", "protocol", "file", "foo:///a"},
    {"foo:///a", "host", "x", "foo://x/a"},
    {"foo:///a", "host", "x:81", "foo://x:81/a"},
    {"foo:///a", "host", "x:80", "foo://x:80/a"},
    {"foo:///a", "host", "", "foo:///a"},
    {"foo:///a", "host", "[::1]:9", "foo://[::1]:9/a"},
    {"foo:///a", "host", "a b", "foo:///a"},
    {"foo:///a", "host", "x/y", "foo://x/a"},
    {"foo:///a", "host", "x:y", "foo://x/a"},
    {"foo:///a", "host", "x:99999", "foo://x/a"},
    {"foo:///a", "host", "x?y", "foo://x/a"},
    {"foo:///a", "hostname", "y", "foo://y/a"},
    {"foo:///a", "hostname", "0x7f", "foo://0x7f/a"},
    {"foo:///a", "hostname", "a#b", "foo://a/a"},
    {"foo:///a", "port", "81", "foo:///a"},
    {"foo:///a", "port", "80", "foo:///a"},
    {"foo:///a", "port", "", "foo:///a"},
    {"foo:///a", "port", "x", "foo:///a"},
    {"foo:///a", "port", "8y", "foo:///a"},
    {"foo:///a", "port", "99999", "foo:///a"},
    {"foo:///a", "port", " 9", "foo:///a"},
    {"foo:///a", "pathname", "/n", "foo:///n"},
    {"foo:///a", "pathname", "n", "foo:///n"},
    {"foo:///a", "pathname", "", "foo://"},
    {"foo:///a", "pathname", "../x", "foo:///x"},
    {"foo:///a", "pathname", "a?b#c", "foo:///a%3Fb%23c"},
    {"foo:///a", "pathname", "\\w\\", "foo:///\\w\\"},
    {"foo:///a", "search", "?s", "foo:///a?s"},
    {"foo:///a", "search", "s=1 2'", "foo:///a?s=1%202'"},
    {"foo:///a", "search", "?", "foo:///a?"},
    {"foo:///a", "hash", "#n", "foo:///a#n"},
    {"foo:///a", "hash", "n m", "foo:///a#n%20m"},
    {"foo:///a", "hash", "#", "foo:///a#"},
};
// clang-format on

static struct guest guest;

static int start(void **state)
{
    (void)state;
    guest_load(&guest, NULL,
               "transform = ([input, second, key]) => {"
               "  if (key) { const url = new URL(input); url[key] = second; return url.href }"
               "  try { return second ? new URL(input, second).href : new URL(input).href }"
               "  catch (e) { if (!(e instanceof TypeError)) throw e;"
               "    if (URL.canParse(input, second || undefined)) throw 'canParse'; return '' } }");
    return 0;
}

static int finish(void **state)
{
    (void)state;
    guest_finish(&guest);
    return 0;
}

static char *put_string(char *at, const char *text)
{
    *at++ = '"';
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        at += sprintf(at, c == '\\' || c == '"' ? "\\%c" : c < 32 ? "\\u%04x" : "%c", c);
    }
    *at++ = '"';
    *at = 0;
    return at;
}

static const char *ask(const char *input, const char *second, const char *key)
{
    char json[2048], *at = json;
    *at++ = '[';
    at = put_string(at, input);
    *at++ = ',';
    at = put_string(at, second);
    *at++ = ',';
    at = put_string(at, key);
    *at++ = ']';
    *at = 0;
    return guest_call(&guest, json);
}

static void inputs_parse_as_the_standard_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(parsed) / sizeof(parsed[0]); i++) {
        char expected[1024];
        put_string(expected, parsed[i][2]);
        const char *got = ask(parsed[i][0], parsed[i][1], "");
        if (strcmp(got, expected) != 0)
            fail_msg("%s on %s: %s, expected %s", parsed[i][0], parsed[i][1], got, expected);
    }
}

static void parts_change_as_the_standard_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
        char expected[1024];
        put_string(expected, changed[i][3]);
        const char *got = ask(changed[i][0], changed[i][2], changed[i][1]);
        if (strcmp(got, expected) != 0)
            fail_msg("%s, %s = %s: %s, expected %s", changed[i][0], changed[i][1], changed[i][2],
                     got, expected);
    }
}

static void search_params_and_url_follow_each_other(void **state)
{
    (void)state;
    assert_string_equal(
        once("transform = () => {"
             " const u = new URL('http://a/?x=1&y=%20a+b&x=2'), p = u.searchParams;"
             " const seen = [p.get('x'), p.getAll('x'), p.get('y'), p.has('z'), p.size,"
             "  [...p.keys()].join()];"
             " p.append('z', '\\u00e9&='); p.delete('x', '2'); p.set('y', '~*'); p.sort();"
             " const first = u.href; u.search = '?q';"
             " seen.push(first, [...p], p === u.searchParams); p.delete('q'); seen.push(u.href);"
             " return seen }",
             "1"),
        "[\"1\",[\"1\",\"2\"],\" a b\",false,3,\"x,y,x\",\"http://a/?x=1&y=%7E*&z=%C3%A9%26%3D\","
        "[[\"q\",\"\"]],true,\"http://a/\"]");
    assert_string_equal(
        once("transform = () => [new URLSearchParams({a: 1, b: 'x y'}).toString(),"
             " new URLSearchParams([['a', 'b'], ['a', 'c']]).toString(),"
             " new URLSearchParams('?a=%ff&%zz=+').get('a').codePointAt(0),"
             " new URLSearchParams(new Map([['k', 'v']])).toString(), `${new URLSearchParams()}`]",
             "1"),
        "[\"a=1&b=x+y\",\"a=b&a=c\",65533,\"k=v\",\"\"]");
    assert_string_equal(once("transform = () => {"
                             " try { new URLSearchParams([['a']]) } catch (e) { return e.name } }",
                             "1"),
                        "\"TypeError\"");
}

static void a_url_is_what_people_expect(void **state)
{
    (void)state;
    assert_string_equal(
        once("transform = () => { const u = new URL('https://u:p@a.b:81/c?d#e');"
             " return [u, `${u}`, u.origin, u.protocol, u.username, u.password, u.host, u.hostname,"
             " u.port, u.pathname, u.search, u.hash, Object.prototype.toString.call(u),"
             " URL.canParse('x'), URL.parse('x'), 'href' in u, new URL(u) instanceof URL] }",
             "1"),
        "[\"https://u:p@a.b:81/c?d#e\",\"https://u:p@a.b:81/c?d#e\",\"https://a.b:81\",\"https:\","
        "\"u\",\"p\",\"a.b:81\",\"a.b\",\"81\",\"/c\",\"?d\",\"#e\",\"[object URL]\",false,null,"
        "true,true]");
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_parse_as_the_standard_says),
        cmocka_unit_test(parts_change_as_the_standard_says),
        cmocka_unit_test(search_params_and_url_follow_each_other),
        cmocka_unit_test(a_url_is_what_people_expect),
    };
    return cmocka_run_group_tests_name("url", tests, start, finish);
}
