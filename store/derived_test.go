package store_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"hindcast/diff"
	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store"
	"hindcast/store/kinds/genkit"
	"hindcast/store/kinds/strands/messages"
	"hindcast/store/kinds/strands/snapshots"
)

// What is called a gap is one: of a session that keeps a key once, no state but
// that of the newest has it, and no other key comes and goes with the newest. So
// what a comparison without the gaps calls added was added there.
func TestGaps_areWhatIsKeptOnce(t *testing.T) {
	open := map[string]func(dir string) (store.Store, error){
		"strands":           func(dir string) (store.Store, error) { return messages.Open(t.Context(), dir) },
		"strands-snapshots": func(dir string) (store.Store, error) { return snapshots.Open(t.Context(), dir) },
		"genkit":            func(dir string) (store.Store, error) { return genkit.Options{}.Open(t.Context(), dir) },
	}
	for _, tc := range []struct {
		kind, dir string
		keys      map[string][]string // of the first snapshot with gaps, by session
	}{
		{"strands", "strands/python-file", map[string][]string{"basic": {"state", "conversation_manager_state", "interrupt_state", "model_state"}}},
		{"strands", "strands/python-multiagent", map[string][]string{
			"graph_done": {"status", "completed_nodes", "failed_nodes", "interrupted_nodes", "next_nodes_to_execute", "_internal_state"},
			"swarm_done": {"status", "next_nodes_to_execute", "context", "_internal_state"},
		}},
		{"strands-snapshots", "strands/python-snapshot", nil},
		{"strands-snapshots", "strands/typescript/unified", map[string][]string{"graph-done": {"steps", "app", "nodes"}}},
		{"genkit", "genkit/devproject-go-1.13.1", map[string][]string{"barista/sess-main": {"artifacts", "custom"}}},
	} {
		t.Run(tc.dir, func(t *testing.T) {
			s, err := open[tc.kind](filepath.Join("..", "testdata", filepath.FromSlash(tc.dir)))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for info, err := range s.Sessions(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				checkGaps(t, s, info.ID, tc.keys[info.ID])
				delete(tc.keys, info.ID)
			}
			for session := range tc.keys {
				t.Errorf("there is no session %s", session)
			}
		})
	}
}

func checkGaps(t *testing.T, s store.Store, session string, want []string) {
	t.Helper()
	var headers []model.Header
	for h, err := range s.Headers(t.Context(), session) {
		if err != nil {
			t.Fatal(err)
		}
		headers = append(headers, h)
	}
	line := model.NewTimeline(headers)
	var first []string
	for n := range model.Node(line.Len()) {
		h := line.Header(n)
		gaps, err := store.Gaps(t.Context(), s, h.Ref())
		if err != nil {
			t.Fatalf("%s #%d: %v", session, h.Index, err)
		}
		if first == nil {
			first = gaps.Keys
		}
		state := stateOf(t, s, h.Ref())
		for _, key := range gaps.Keys {
			if has := jsontape.FindMember(state, `"`+key+`"`) != nil; has && !h.Head {
				t.Errorf("%s #%d: the state has %s, which is kept once", session, h.Index, key)
			}
		}
		base := line.Base(n)
		if base == model.NoNode {
			continue
		}
		both, err := store.Gaps(t.Context(), s, h.Ref(), line.Header(base).Ref())
		if err != nil {
			t.Fatal(err)
		}
		r, err := diff.Compare(context.Background(), diff.Bytes(stateOf(t, s, line.Header(base).Ref())), diff.Bytes(state))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range r.Without(both.Has).Changes() {
			if e.Depth == 1 && (e.Op == diff.Added || e.Op == diff.Removed) && r.Path(e) != "/trace" && !both.IsEmpty() {
				t.Errorf("%s #%d: %s %s at the top", session, h.Index, e.Op, r.Path(e))
			}
		}
	}
	if want != nil && !slices.Equal(first, want) {
		t.Errorf("%s: gaps %q, want %q", session, first, want)
	}
}

func stateOf(t *testing.T, s store.Store, ref model.Ref) []byte {
	t.Helper()
	state, err := s.State(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return state
}
