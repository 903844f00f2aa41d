package chat

import (
	"slices"
	"strconv"
	"testing"
)

// said are entries in a line, each in a word: "u" of the user, "a" an answer, "a+x" one that
// calls x, "t-x" the result of x.
func said(words ...string) *Session {
	s := &Session{Head: len(words) - 1}
	for i, word := range words {
		e := Entry{ID: strconv.Itoa(i), Said: Said{Role: map[byte]Role{'u': User, 'a': Assistant, 't': Tool, 's': System}[word[0]]}}
		if i > 0 {
			e.Parent = strconv.Itoa(i - 1)
		}
		for k := 1; k+1 < len(word); k += 2 {
			call := Call{ID: word[k+1 : k+2]}
			if word[k] == '+' {
				e.Said.Calls = append(e.Said.Calls, call)
			} else {
				e.Said.Results = append(e.Said.Results, Result{ID: call.ID})
			}
		}
		s.Entries = append(s.Entries, e)
	}
	return s
}

func TestSession_Open(t *testing.T) {
	for _, c := range []struct {
		name  string
		words []string
		want  []string
	}{
		{"nothing is called", []string{"u", "a"}, nil},
		{"a call", []string{"u", "a+x"}, []string{"x"}},
		{"a call and its result", []string{"u", "a+x", "t-x"}, nil},
		{"one of two results", []string{"u", "a+x+y", "t-y"}, []string{"x"}},
		{"both results in one message", []string{"u", "a+x+y", "t-x-y"}, nil},
		{"an answer in several records", []string{"u", "a+x", "a+y", "t-y"}, []string{"x"}},
		{"the user spoke over it", []string{"u", "a+x", "u"}, []string{"x"}},
		{"a result behind words of the user", []string{"u", "a+x", "u", "t-x"}, nil},
		{"the model went on without a result", []string{"u", "a+x+y", "t-y", "u", "a"}, nil},
		{"the model called again without a result", []string{"u", "a+x", "u", "a+y"}, []string{"y"}},
		{"a result of nothing", []string{"u", "t-x", "a+y", "t-y"}, nil},
		{"a call of the same id again", []string{"u", "a+x", "t-x", "u", "a+x"}, []string{"x"}},
		{"a result before its call", []string{"u", "t-x", "a+x"}, []string{"x"}},
	} {
		s := said(c.words...)
		if got := s.Open(&s.Entries[s.Head]); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q are open, want %q", c.name, got, c.want)
		}
	}
	// What the model no longer reads is not sent, and so need not be answered.
	s := said("u", "a+x", "u", "s", "u")
	s.Entries[3].Context = []int{3}
	if got := s.Open(&s.Entries[4]); len(got) > 0 {
		t.Errorf("behind a compaction %q are open", got)
	}
}
