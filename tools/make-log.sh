#!/bin/sh
# Writes an access log: make-log.sh LINES. It is made up, from the forms that real ones have, and
# always the same: a generator of its own, no clock. Now and then somebody leaks a secret in it.
set -eu
awk -v lines="${1:-4000}" '
    function below(n) { # a linear congruential generator: the same numbers in every awk
        seed = (seed * 1103515245 + 12345) % 2147483648
        return int(seed / 65536) % n
    }
    function pick(list,   items, n) { n = split(list, items, "|"); return items[below(n) + 1] }
    BEGIN {
        seed = 20260302
        second = 0
        for (i = 1; i <= lines; i++) {
            second += below(4)
            hour = int(second / 3600) % 24; minute = int(second / 60) % 60
            time = sprintf("02/Mar/2026:%02d:%02d:%02d +0000", hour, minute, second % 60)
            client = sprintf("%s.%d", pick("192.0.2|198.51.100|203.0.113"), 1 + below(254))
            user = below(5) ? "-" : pick("ines|olga|sam|deploy")
            path = pick("/|/shop|/shop/items/" below(900) "|/api/orders|/api/orders/" below(9000) "|/static/app.css|/login|/health")
            if (!below(40)) path = path "?token=" sprintf("%08x%08x", below(32768) * 65536 + below(65536), below(32768))
            if (!below(60)) path = "/invite?mail=" pick("ines@example.org|sam@example.net|olga@example.com")
            method = below(6) ? "GET" : "POST"
            status = pick("200|200|200|200|200|201|204|301|304|404|500")
            agent = pick("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0|curl/8.5.0|shop-client/3.1|Mozilla/5.0 (compatible; ExampleBot/2.1; +https://example.org/bot)")
            printf "%s - %s [%s] \"%s %s HTTP/1.1\" %s %d \"-\" \"%s\"\n", client, user, time, method, path, status, below(20000), agent
        }
    }'
