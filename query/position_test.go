package query_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/query"
	"hindcast/store"
	"hindcast/store/storetest/skip"
)

// standsAt reports whether a text stands where a hit says, of several members of one key at one
// of them.
func standsAt(t *jsontape.Tape, n jsontape.Node, path []string, hit *query.Hit) bool {
	if len(path) == 0 {
		return t.Kind(n) == jsontape.String && t.Text(n) == hit.Text || t.Kind(n) == jsontape.Number && string(t.Raw(n)) == hit.Text
	}
	step := strings.NewReplacer("~1", "/", "~0", "~").Replace(path[0])
	for c := t.First(n); c >= 0; c = t.Next(c) {
		key := strconv.Itoa(t.Index(c))
		if t.Kind(n) == jsontape.Object {
			key = t.Key(c)
		}
		if key == step && (hit.Key && len(path) == 1 && key == hit.Text || standsAt(t, c, path[1:], hit)) {
			return true
		}
	}
	return false
}

// Each hit says where its text stands, and who says it, in whatever order visits and branches
// were recorded.
func TestGrep_tellsWhere(t *testing.T) {
	skip.Sequential(t)
	sessions := 150
	if testing.Short() {
		sessions = 30
	}
	for seed := range uint64(sessions) {
		r := rand.New(rand.NewPCG(seed, 9))
		messages, lines := [][]string{}, []string{}
		for i := range 2 + r.IntN(12) {
			parent, said := "-", []string(nil)
			if i > 0 {
				from := r.IntN(i)
				if r.IntN(3) > 0 {
					from = i - 1
				}
				parent, said = fmt.Sprintf("v%d", from), messages[from]
			}
			said = append([]string(nil), said[min(len(said), r.IntN(8)/7):]...) // the first of them may leave
			for range r.IntN(3) {
				n := r.IntN(1000)
				said = append(said, []string{
					fmt.Sprintf(`{"role":"user","content":"say %d"}`, n),
					fmt.Sprintf(`{"role":"assistant","content":[{"text":"said %d"},{"toolUse":{"toolUseId":"t%d","name":"add","input":{"a/b":["x",%d]}}}]}`, n, n, n),
					fmt.Sprintf(`{"role":"user","content":[{"toolResult":{"toolUseId":"t%d","content":[{"text":"it is %d"}]}}]}`, n, n),
				}[r.IntN(3)])
			}
			messages = append(messages, said)
			lines = append(lines, fmt.Sprintf(`v%d %s {"a":%d,"messages":[%s],"z":{"n":[%d,"end %d"]}}`, i, parent, r.IntN(3), strings.Join(said, ","), i, i))
		}
		p := pastOf(lines...)
		tl := model.NewTimeline(p.headers)
		for _, s := range []store.Store{p, strungOf(p, r)} {
			for _, pattern := range []*query.Pattern{query.Literal("", query.SmartCase), query.Literal("sa", query.SmartCase), query.Literal("1", query.SmartCase)} {
				for _, all := range []bool{false, true} {
					for hit, err := range query.Open(s, tl).Grep(t.Context(), query.Search{Pattern: pattern, All: all}) {
						if err != nil {
							t.Fatal(err)
						}
						state := p.states[p.headers[hit.Visit].ID]
						tape, err := jsontape.Parse([]byte(state))
						if err != nil {
							t.Fatal(err)
						}
						path := strings.Split(hit.Path, "/")[1:]
						if !standsAt(tape, 0, path, &hit) {
							t.Fatalf("seed %d: %+v is not in %s", seed, hit, state)
						}
						number, role := -1, ""
						if path[0] == "messages" && len(path) > 1 {
							number, _ = strconv.Atoi(path[1])
							role = tape.Text(tape.Lookup("messages", path[1], "role"))
						}
						if hit.Message != number || hit.Role != role {
							t.Fatalf("seed %d: %+v is in message %d of %q in %s", seed, hit, number, role, state)
						}
						if tool := strings.Contains(hit.Path, "/toolUse/") || strings.Contains(hit.Path, "/toolResult/"); tool != (hit.Tool != "") && !hit.Key {
							t.Fatalf("seed %d: %+v is of a tool %v in %s", seed, hit, tool, state)
						}
					}
				}
			}
		}
	}
}
