// Timers: a heap ordered by time, then by age. C asks when the first is due and has it fired.
"use strict";
{
    const kit = this;
    const { native, apply, list, push, create, lazy } = kit;
    let heap = list(), byId = create(null), last = 0;
    const before = (a, b) => a.at < b.at || (a.at === b.at && a.order < b.order);
    function swap(i, j) {
        const other = heap[i];
        heap[i] = heap[j];
        heap[j] = other;
    }
    function add(timer) {
        let i = heap.length;
        push(heap, timer);
        for (let up = (i - 1) >> 1; i > 0 && before(heap[i], heap[up]); up = (i - 1) >> 1) {
            swap(i, up);
            i = up;
        }
    }
    function take() {
        const first = heap[0];
        swap(0, --heap.length);
        delete heap[heap.length];
        for (let i = 0; ;) {
            let least = i;
            for (let down = 2 * i + 1; down <= 2 * i + 2 && down < heap.length; down++)
                if (before(heap[down], heap[least]))
                    least = down;
            if (least === i)
                return first;
            swap(i, least);
            i = least;
        }
    }
    function stop(id) {
        delete byId[+id];
    }
    function skipCleared() {
        while (heap.length && byId[heap[0].id] !== heap[0])
            take();
    }
    function start(callback, delay, args, repeats) {
        if (typeof callback !== "function")
            throw new TypeError("a timer needs a function");
        delay = +delay;
        if (!(delay > 0))
            delay = repeats ? 1 : 0;
        const id = ++last;
        const timer = { __proto__: null, id, order: id, at: native.now() + delay, callback, args,
            every: repeats ? delay : -1 };
        byId[id] = timer;
        add(timer);
        return id;
    }

    kit.timers = {
        __proto__: null,
        clear: () => {
            if (heap.length) {
                heap = list();
                byId = create(null);
            }
        },
        // In ms of native.now(), or -1.
        due: () => {
            skipCleared();
            return heap.length ? heap[0].at : -1;
        },
        // Runs the first that is due; its microtasks run before the next.
        fire: () => {
            skipCleared();
            if (heap.length === 0 || heap[0].at > native.now())
                return;
            const timer = take();
            if (timer.every < 0) {
                delete byId[timer.id];
            } else {
                timer.at = native.now() + timer.every;
                timer.order = ++last;
                add(timer);
            }
            try {
                apply(timer.callback, undefined, timer.args);
            } catch (thrown) {
                lazy("errors").report(kit.SCRIPT, thrown);
            }
        },
    };

    ({
        __proto__: null,
        setTimeout: function setTimeout(callback, delay, ...args) {
            return start(callback, delay, args, false);
        },
        setInterval: function setInterval(callback, delay, ...args) {
            return start(callback, delay, args, true);
        },
        clearTimeout: function clearTimeout(id) { stop(id); },
        clearInterval: function clearInterval(id) { stop(id); },
    });
}
