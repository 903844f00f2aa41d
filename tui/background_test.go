package tui

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// The answer is taken out wherever reads cut it and whatever is typed around it, and no key is lost.
func TestKeyboard_takesTheAnswer(t *testing.T) {
	for answer, light := range map[string]bool{
		"\x1b]11;rgb:fdfd/f6f6/e3e3\a": true, "\x1b]11;rgb:0000/2b2b/3636\x1b\\": false, "\x1b]11;rgb:ff/ff/ff\a": true,
		"\x1b]11;rgba:0/0/0/ffff\a": false, "\x1b]11;rgba:ffff/ffff/ffff/8000\x1b\\": true, "\x1b]11;#ffffff\a": false, "\x1b]11;\a": false,
	} {
		for _, keys := range [][2]string{{"", ""}, {"j", "k"}, {"\x1b", "\x1b[A"}, {"\x1b[B", "é"}, {"]11;", "\x1b"}} {
			text := keys[0] + answer + keys[1]
			for cut := range len(text) + 1 {
				if text[:cut] == keys[0]+"\x1b" {
					continue // a single escape is a key, whatever comes behind it
				}
				got, told := typed(t, text[:cut], text[cut:])
				if got != keys[0]+keys[1] || !slices.Equal(told, []bool{light}) {
					t.Fatalf("%q, cut at %d: the keys are %q, and it is told %v", text, cut, got, told)
				}
			}
		}
	}
	// Another text is typed.
	for _, text := range []string{"\x1b]12;rgb:0/0/0\a", "\x1b]11;" + string(bytes.Repeat([]byte("1"), 2*mostAnswer)), "\x1b]", "\x1b]11;x"} {
		if got, told := typed(t, text, "jj"); len(told) > 0 || got != text+"jj" {
			t.Errorf("%q: the keys are %q, and it is told %v", text, got, told)
		}
	}
}

// typed returns what a keyboard that waits for an answer makes of texts, read one by one, and what it tells.
func typed(t *testing.T, texts ...string) (keys string, told []bool) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	answers := make(chan bool, 9)
	k := &keyboard{File: r, gone: func() {}, answer: func(light bool) { answers <- light }}
	k.waits.Store(true)
	buf := make([]byte, 256)
	for _, text := range append(texts, "") {
		if text == "" {
			continue
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		n, err := k.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		keys += string(buf[:n])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	n, err := k.Read(buf)
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	keys += string(buf[:n])
	if !k.waits.Load() {
		told = append(told, <-answers)
	}
	return keys, told
}

// The program ends behind an answer that is on its way, and at once where none is.
func TestKeyboard_holdsTheEnd(t *testing.T) {
	held := make(chan bool, 1)
	quit := func() { held <- true }
	k := &keyboard{asked: time.Now()}
	k.waits.Store(true)
	if msg := k.holdQuit(tea.QuitMsg{}, quit); msg != nil {
		t.Errorf("it ends with %v", msg)
	}
	<-held
	old := &keyboard{asked: time.Now().Add(-time.Hour)}
	old.waits.Store(true)
	for _, k := range []*keyboard{nil, {asked: time.Now()}, old} {
		if k.holdQuit(tea.QuitMsg{}, quit) == nil {
			t.Error("it does not end")
		}
	}
	if k.holdQuit(tea.KeyMsg{}, quit) == nil {
		t.Error("a key is held")
	}
}
