package ledger

import (
	"testing"

	"hindcast/model"
	"hindcast/query"
)

// apart are the sessions whose timeline has more turns than the account counts prompts, or fewer, by kind and id, and
// why. No turns are counted of a session that another one started, which begins with the words of an agent.
var apart = map[[2]string]struct {
	more int
	why  string
}{
	{"claude-code", "33333333-aaaa-4bbb-8ccc-000000000003"}:    {-1, "a command to the agent holds words of the person"},
	{"claude-code", "33333333-aaaa-4bbb-8ccc-000000000004"}:    {-2, "a command holds words of the person, and its text that the agent put in counts too"},
	{"claude-code", "33333333-aaaa-4bbb-8ccc-000000000011"}:    {-1, "the text of a command that the agent put in counts as words of the person"},
	{"pi", "01a20301-0000-7000-8000-000000000001"}:             {1, "a moment whose answers were all met before counts as a copy"},
	{"codex", "01a20bc3-2a84-71c2-8053-bc29e9e6682b"}:          {1, "a moment whose answers were all met before counts as a copy"},
	{"aider", "2026-11-24T02:51:41"}:                           {1, "/exit is a prompt that no model was sent"},
	{"langgraph", "old"}:                                       {-1, "an update of the state put a prompt in"},
	{"langgraph", "delta"}:                                     {-8, "the state after two runs lists the messages of both anew"},
	{"genkit", "pruned/sess-pruned"}:                           {-2, "the first snapshot that is left holds earlier prompts"},
	{"genkit", "barista/7ae9ddbd-7a66-4c08-9bed-6bcea2e0021b"}: {1, "a turn had no prompt"},
	{"genkit", "barista/sess-flaky"}:                           {1, "a turn that failed began again without a prompt"},
	{"genkit", "s"}:                                            {-1, "a snapshot holds two prompts"},
	{"strands-snapshots", "every4"}:                            {-3, "each snapshot holds two prompts"},
	{"strands-snapshots", "default-session"}:                   {-1, "the snapshot holds two prompts"},
	{"strands", "summarizing"}:                                 {-1, "a summary is kept as words of the person"},
}

// The turns of a timeline are those that the account of the session counts, and with them those of the list of sessions.
func TestAccount_countsTheTurnsOfTheTimeline(t *testing.T) {
	_, sessions := testHome(t)
	met, same := map[[2]string]bool{}, map[string]int{}
	for _, s := range sessions {
		a, opened := readAccount(t, s)
		line, err := query.ReadTimeline(t.Context(), opened, s.ID)
		if err != nil {
			t.Fatal(err)
		}
		turns, sum := model.FindTurns(line).Len(), a.Sum(perToken(1)).Turns
		differ, listed := apart[[2]string{s.Kind, s.ID}]
		met[[2]string{s.Kind, s.ID}] = true
		switch {
		case s.Parent != "" && sum == 0:
		case turns != sum+differ.more:
			t.Errorf("%s %s: %d turns, and the account counts %d: %s", s.Kind, s.ID, turns, sum, differ.why)
		case !listed:
			same[s.Kind]++
		}
	}
	for at, differ := range apart {
		if !met[at] {
			t.Errorf("no session is %v, %s", at, differ.why)
		}
	}
	if len(same) < 15 {
		t.Errorf("only in %v are the turns the same", same)
	}
}
