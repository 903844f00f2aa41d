package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"hindcast/model"
	"hindcast/store/engine"
)

// counted is a medium that counts how often its journal is gone through.
type counted struct {
	engine.Medium
	journals int
}

func (*counted) Read(_ context.Context, what func(engine.In) error) error { return what(engine.In{}) }

func (c *counted) Teller(context.Context) engine.Teller {
	c.journals++
	return func(_ context.Context, _ engine.In, _ engine.Place, log *engine.Log) (*engine.Log, error) {
		return log, nil
	}
}

// A list goes through the journal once, however many sessions it has.
func TestStore_listsByOneLookAtTheJournal(t *testing.T) {
	const sessions = 50
	medium := &counted{}
	s := engine.New(engine.Format{
		Sessions: func(context.Context, engine.In) (list []engine.Listed, err error) {
			for i := range sessions {
				at := engine.Place{Session: fmt.Sprint("s", i)}
				list = append(list, engine.Listed{Place: at, Log: &engine.Log{Place: at, Rows: []model.Header{{ID: "a", Head: true}}}})
			}
			return list, nil
		},
		Info: func(*engine.Log, *model.SessionInfo) {},
	}, medium, "here")
	n := 0
	for _, err := range s.Sessions(t.Context()) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != sessions || medium.journals != 1 {
		t.Errorf("%d sessions, %d looks at the journal", n, medium.journals)
	}
}

// A session is as new as those below it where the kind nests them, and "a/b" is any other session where it
// does not.
func TestStore_listsNestedSessions(t *testing.T) {
	for nested, want := range map[bool]string{false: "a/b c a", true: "a a/b c"} {
		s := engine.New(engine.Format{
			Nested: nested,
			Sessions: func(context.Context, engine.In) (list []engine.Listed, err error) {
				for i, id := range []string{"a", "c", "a/b"} {
					at := engine.Place{Session: id}
					row := model.Header{ID: "1", Head: true, CreatedAt: time.Unix(int64(i), 0)}
					list = append(list, engine.Listed{Place: at, Log: &engine.Log{Place: at, Rows: []model.Header{row}}})
				}
				return list, nil
			},
			Info: func(log *engine.Log, info *model.SessionInfo) { info.UpdatedAt = log.Rows[0].CreatedAt },
		}, &counted{}, "here")
		var ids []string
		for info, err := range s.Sessions(t.Context()) {
			if ids = append(ids, info.ID); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("nested %t: %s", nested, got)
		}
	}
}
