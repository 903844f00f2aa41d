package inspect_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/inspect"
)

// damaged says of no snapshot that it is.
func damaged(string) bool { return false }

// counted is a session of messages: the state of each snapshot has all up to it, but for those that
// are hidden. It counts the bytes of the states that are read.
type counted struct {
	store.Store
	n      int
	hidden map[int]bool
	read   int
}

func (*counted) Features() store.Features { return store.Features{} }

func (c *counted) Headers(context.Context, string) iter.Seq2[model.Header, error] {
	return func(yield func(model.Header, error) bool) {
		for i := range c.n {
			h := model.Header{ID: fmt.Sprint(i), Index: i, Head: i == c.n-1}
			if i > 0 {
				h.ParentID = fmt.Sprint(i - 1)
			}
			if !yield(h, nil) {
				return
			}
		}
	}
}

func (c *counted) State(_ context.Context, ref model.Ref) ([]byte, error) {
	var last int
	fmt.Sscan(ref.ID, &last)
	var list []string
	for i := range last + 1 {
		if !c.hidden[i] {
			list = append(list, c.message(i))
		}
	}
	state := `{"messages":[` + strings.Join(list, ",") + "]}"
	c.read += len(state)
	return []byte(state), nil
}

func (c *counted) message(i int) string {
	return fmt.Sprintf(`{"role":"user","content":"message number %d"}`, i)
}

func (c *counted) faults(t *testing.T) []model.Fault {
	t.Helper()
	c.read = 0
	list, err := inspect.UnreadFaults(t.Context(), c, "s", damaged, func(yield func(*inspect.Carried)) error {
		for i := range c.n {
			yield(&inspect.Carried{File: "log", Place: fmt.Sprint(i), Kind: "note", Snapshot: fmt.Sprint(i), Data: []byte(c.message(i))})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Records whose texts no state has are counted, with the first. To know it takes as many bytes as the
// head has, and for each that is missing those of its own snapshot.
func TestUnreadFaults(t *testing.T) {
	c := &counted{n: 1000}
	if list := c.faults(t); list != nil {
		t.Errorf("where all is in view it says %v", list)
	}
	if all := c.n * len(c.message(c.n)); c.read > 2*all {
		t.Errorf("%d bytes were read of a session of %d", c.read, all)
	}
	c.hidden = map[int]bool{3: true, 500: true}
	want := model.Fault{Code: store.FaultUnread, Severity: model.Odd, File: "log", Path: "3", Verdict: "Hindcast does not read such a record: look at the file", Records: 2,
		Meaning: `2 records have texts that no message shows; the first is of type "note": message number 3`}
	if list := c.faults(t); len(list) != 1 || list[0] != want {
		t.Errorf("it says %+v, want %+v", list, want)
	}
	c.hidden = map[int]bool{7: true}
	if list := c.faults(t); len(list) != 1 || !strings.HasPrefix(list[0].Meaning, "1 record has a text that no message shows; the first is of type") {
		t.Errorf("it says %+v", list)
	}
}

// JSON in a string is gone into, and words apart from ids, times and paths are what count.
func TestUnreadFaults_texts(t *testing.T) {
	for data, lost := range map[string]bool{
		`{"arguments":"{\"query\":\"two words\"}"}`:        true,
		`{"content":"hello"}`:                              true,
		`{"parts":[{"text":"hello"}]}`:                     true,
		`{"note":"by another program"}`:                    true,
		`{"note":"hello"}`:                                 false,
		`{"at":"2026-11-28 10:00:00","id":"a-b-c","n":12}`: false,
		`{"content":"message number 0"}`:                   false,
		`{"content":" message number 0\n"}`:                false,
		`{"note":"number 0 of them"}`:                      true,
		`{"a text that":"is"}`:                             false,
		`not JSON at all`:                                  true,
	} {
		c := &counted{n: 1}
		list, err := inspect.UnreadFaults(t.Context(), c, "s", damaged, func(yield func(*inspect.Carried)) error {
			yield(&inspect.Carried{File: "f", Snapshot: "0", Data: []byte(data)})
			return nil
		})
		if err != nil || (list != nil) != lost {
			t.Errorf("%s: %v, %v", data, list, err)
		}
	}
}
