package statetab

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"hindcast/keymap"
	"hindcast/tui/screentest"
)

// large returns a state of about n MB, with some 46 bytes for each value as the
// states of agents have.
func large(mb int) []byte {
	var out bytes.Buffer
	out.WriteString(`{"cart":{"total":120.5},"messages":[`)
	for i := 0; out.Len() < mb*1_000_000; i++ {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `{"role":"user","content":[{"text":"message %d: %s"},{"toolUse":{"toolUseId":"t%d","name":"search","input":{"day":"2026-05-09","from":"Paris","seats":2}}}]}`,
			i, strings.Repeat("word ", 20), i)
	}
	out.WriteString(`]}`)
	return out.Bytes()
}

var sizes = []int{1, 10, 100}

// BenchmarkFirstPaint is from the bytes of a state to the first frame.
func BenchmarkFirstPaint(b *testing.B) {
	for _, mb := range sizes {
		data := large(mb)
		b.Run(fmt.Sprintf("%dMB", mb), func(b *testing.B) {
			var frame []byte
			for b.Loop() {
				p := show(Preview(data, len(data)), 200, 50)
				frame = screentest.Frame(frame[:0], p, 50)
			}
		})
	}
}

// BenchmarkPrepare reads the whole state.
func BenchmarkPrepare(b *testing.B) {
	for _, mb := range sizes {
		data := large(mb)
		b.Run(fmt.Sprintf("%dMB", mb), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				prepare(data)
			}
		})
	}
}

// BenchmarkFrame draws one frame of a state that is read.
func BenchmarkFrame(b *testing.B) {
	each(b, func(b *testing.B, p *Pane) {
		var frame []byte
		for b.Loop() {
			frame = screentest.Frame(frame[:0], p, 50)
		}
	})
}

// BenchmarkKeys folds and unfolds the largest container, and goes to the end
// and back.
func BenchmarkKeys(b *testing.B) {
	each(b, func(b *testing.B, p *Pane) {
		p.Select(p.c.tape.LookupPointer("/messages"))
		for b.Loop() {
			screentest.Do(b, p, keymap.Fold, keymap.Unfold, keymap.Bottom, keymap.PageUp, keymap.Top)
			p.Select(p.c.tape.LookupPointer("/messages"))
		}
	})
}

func each(b *testing.B, run func(*testing.B, *Pane)) {
	for _, mb := range sizes {
		p := show(prepare(large(mb)), 200, 50)
		screentest.Do(b, p, keymap.UnfoldAll, keymap.UnfoldAll, keymap.UnfoldAll, keymap.UnfoldAll, keymap.PageDown)
		b.Run(fmt.Sprintf("%dMB", mb), func(b *testing.B) { run(b, p) })
	}
}

func BenchmarkFind(b *testing.B) {
	c := prepare(large(10))
	b.SetBytes(int64(c.size))
	for b.Loop() {
		if _, err := Find(b.Context(), c, "not there"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOddStates draws and scrolls states that no agent writes but that
// may come all the same.
func BenchmarkOddStates(b *testing.B) {
	for name, state := range map[string]string{
		"10000_deep":  strings.Repeat("[", 9_999) + "1" + strings.Repeat("]", 9_999),
		"5MB_key":     `{"a":1,"` + strings.Repeat("k", 5_000_000) + `":{"b":2}}`,
		"20MB_string": `["` + strings.Repeat(`\u0041`, 3_400_000) + `"]`,
		"1M_keys":     `{` + strings.TrimSuffix(strings.Repeat(`"k":1,`, 1_000_000), ",") + `}`,
	} {
		p := show(prepare([]byte(state)), 200, 50)
		screentest.Do(b, p, keymap.UnfoldAll, keymap.UnfoldAll, keymap.UnfoldAll, keymap.UnfoldAll)
		b.Run(name, func(b *testing.B) {
			var frame []byte
			for b.Loop() {
				screentest.Do(b, p, keymap.Bottom, keymap.PageUp, keymap.Fold, keymap.Unfold, keymap.Top, keymap.PageDown)
				frame = screentest.Frame(frame[:0], p, 50)
				p.Status()
			}
		})
	}
}
