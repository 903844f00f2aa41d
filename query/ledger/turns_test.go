package ledger

import (
	"testing"

	"hindcast/model"
	"hindcast/query"
	"hindcast/store/storetest/skip"
)

// copied counts the turns of sessions that begin in a moment whose answers another moment has: it counts as a copy.
var copied = map[[2]string]int{
	{"pi", "01a20301-0000-7000-8000-000000000001"}:    1,
	{"codex", "01a20bc3-2a84-71c2-8053-bc29e9e6682b"}: 1,
}

// The turns of a timeline are those that the account of the session counts, and with them those of the list of sessions.
// A session that another one started counts none: it begins with the words of an agent.
func TestAccount_countsTheTurnsOfTheTimeline(t *testing.T) {
	skip.Sequential(t)
	_, sessions := testHome(t)
	same := map[string]int{}
	for _, s := range sessions {
		a, opened := readAccount(t, s)
		line, err := query.ReadTimeline(t.Context(), opened, s.ID)
		if err != nil {
			t.Fatal(err)
		}
		turns, sum := model.FindTurns(line).Len(), a.Sum(perToken(1)).Turns
		copies := copied[[2]string{s.Kind, s.ID}]
		switch {
		case s.Parent != "" && sum == 0:
		case turns != sum+copies:
			t.Errorf("%s %s: %d turns, and the account counts %d, %d of them copies", s.Kind, s.ID, turns, sum, copies)
		default:
			same[s.Kind]++
		}
	}
	if len(same) < 15 {
		t.Errorf("only in %v are the turns the same", same)
	}
}
