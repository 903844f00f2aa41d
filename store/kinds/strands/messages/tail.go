package messages

import (
	"context"
	"math"
	"slices"

	"hindcast/model"
	"hindcast/store/engine"
)

// readHeaders yields the rows of a log.
func readHeaders(ctx context.Context, in engine.In, at engine.Place, yield func(model.Header) error) (ok bool, err error) {
	_, ok, err = readNewest(ctx, in, at, math.MaxInt, yield)
	return ok, err
}

// readTail returns the newest n rows.
func readTail(ctx context.Context, in engine.In, at engine.Place, n int) (list []model.Header, before int, ok bool, err error) {
	all, ok, err := readNewest(ctx, in, at, n, func(h model.Header) error {
		list = append(list, h)
		return nil
	})
	list = list[max(len(list)-n, 0):]
	return list, all - len(list), ok, err
}

// readNewest lists the names, and reads agent.json and the files of the newest n rows alone. It may yield rows
// before them, and returns how many there are in all. Of a part of the log it leaves out the turns, which are
// counted from the first message on, and the size of a state that messages are in which were not read.
func readNewest(ctx context.Context, in engine.In, at engine.Place, n int, yield func(model.Header) error) (all int, ok bool, err error) {
	p := at.Own.(place)
	if p.orchestrator != "" {
		return 0, false, nil
	}
	l := openLog(p, in)
	defer l.close()
	if l.err != nil {
		return 0, true, l.err
	}
	b := l.asides(ctx)
	from := b.from(l, n)
	defer l.ahead(l.files[max(0, from-2):], l.unknown)() // with what begin reads
	x := newIndex(len(l.files) - from)
	err = b.rows(ctx, l.walker(), from, func(r *row) error {
		if r.step != nil {
			x.add(r.step)
		}
		return yield(*r.header)
	})
	if err == nil {
		l.keep(x, from)
	}
	return len(l.files) + len(b.list), true, err
}

// begin makes the walker one that comes to message from. Whatever stands before
// that, the header of a message depends on its two neighbours before it: on one
// for its parent and for what tool results answer, and on the other for whether
// the one is dropped; in the window those before the gap are neighbours, too.
func (w *walker) begin(ctx context.Context, from int) error {
	if from == 0 {
		return nil
	}
	l := w.log
	w.midway, w.full.partial = true, true
	var before []int
	for _, i := range []int{l.agent.pinned - 2, l.agent.pinned - 1, from - 2, from - 1} {
		if i >= 0 && i < from && !slices.Contains(before, i) {
			before = append(before, i)
		}
	}
	slices.Sort(before)
	files := make([]messageFile, len(before))
	for k, i := range before {
		files[k] = l.files[i]
	}
	next := 0 // the message that would follow
	err := l.read(ctx, files, l.known, func(k int, m *message) error {
		i := before[k]
		for ; next < i; next++ {
			w.pass(next)
		}
		w.step(i, m)
		next = i + 1
		return nil
	})
	for ; next < from; next++ {
		w.pass(next)
	}
	return err
}

// pass goes past message i without reading it.
func (w *walker) pass(i int) {
	l := w.log
	if i >= l.agent.pinned {
		w.summarize()
	}
	if !l.evicted(i) {
		w.live.skip()
	}
}

// skip goes past a message that is not known. What follows it is taken for right
// until something that is known stands before it.
func (w *window) skip() {
	w.partial, w.answers, w.calls = true, true, w.calls[:0]
	w.n++
}
