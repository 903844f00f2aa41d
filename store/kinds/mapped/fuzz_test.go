package mapped_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindcast/store"
	"hindcast/store/kinds/mapped"
	"hindcast/store/storetest/fake"
)

var maps = []string{
	"", seed, "id=checkpoint_id,parent=parent_checkpoint_id,time=ts,state=channel_values,session=thread_id,event=metadata.source,index=metadata.step",
	"rows=$.checkpoints[*],session=$.thread,id=checkpoint.id,parent=/parent_config/configurable/checkpoint_id,time=checkpoint.ts,state=/checkpoint/channel_values",
	"rows=/checkpoints,session='trip',id=/checkpoint/id", "state=message_data,session=session_id,time=created_at", "id=step,title=cart[0],state=$",
	`id=$['a b']["c,d"][-1],event="x\u00e9",head=h,orphaned=@.o`, "rows=$[*].*,id=a..b", "parent=a-b",
}

func FuzzParseMap(f *testing.F) {
	for _, m := range maps {
		f.Add(m)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := mapped.ParseMap(text)
		if err == nil {
			return
		}
		wrong, ok := errors.AsType[*mapped.MapError](err)
		if !ok || wrong.Column < 1 || wrong.Column > len(text)+1 || !strings.Contains(text, wrong.Part) || wrong.Problem == "" {
			t.Errorf("%q: %#v", text, err)
		}
		if _, err := mapped.ParseMap(strings.Split(wrong.Example, " or ")[0]); err != nil {
			t.Errorf("the example of %q is none: %v", text, err)
		}
	})
}

// Whatever a map finds can be imported.
func FuzzRead(f *testing.F) {
	var texts []string
	for _, name := range []string{"checkpoints.jsonl", "checkpoints.json", "items.jsonl", "states/state-2.json"} {
		text, err := os.ReadFile(filepath.FromSlash(fixtures + name))
		if err != nil {
			f.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	texts = append(texts, `{"i":1,"p":3}`+"\n"+`{"i":2,"p":1}`+"\n"+`{"i":3,"p":2}`, "[NaN,{}]", "1\n\n 2 ", "\ufeff{\"a\":\n1}")
	for _, m := range append(maps, "id=i,parent=p", "rows=$[*]") {
		for _, text := range texts {
			f.Add(m, text)
		}
	}
	f.Fuzz(func(t *testing.T, words, text string) {
		m, err := mapped.ParseMap(words)
		if err != nil {
			return
		}
		for _, name := range []string{"in.json", "in.jsonl"} {
			var rows []store.Row
			for row, err := range mapped.Read(t.Context(), []mapped.Source{{Path: name, In: strings.NewReader(text)}}, m, nil) {
				if err != nil && len(rows) > 0 {
					t.Fatalf("%v, after %d rows", err, len(rows))
				}
				if err != nil {
					break
				}
				rows = append(rows, row)
			}
			heads := map[string]int{}
			for _, row := range rows {
				if !strings.Contains(text, string(row.State)) {
					t.Errorf("the state %q is not in the text", row.State)
				}
				if row.Header.Head {
					heads[row.Header.SessionID]++
				}
			}
			for session, n := range heads {
				if n != 1 {
					t.Errorf("session %q has %d heads", session, n)
				}
			}
			s := fake.New()
			n, err := s.Import(t.Context(), func(yield func(store.Row, error) bool) {
				for _, row := range rows {
					if !yield(row, nil) {
						return
					}
				}
			})
			if err != nil || n != len(rows) {
				t.Fatalf("imported %d of %d rows: %v", n, len(rows), err)
			}
		}
	})
}
