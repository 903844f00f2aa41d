package ledger

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"hindcast/model"
	"hindcast/prices"
	"hindcast/query"
	"hindcast/store/home"
	"hindcast/store/storetest/skip"
)

// besides are the agents that count the tokens of a cache beside those of the input; all others count them among those.
var besides = map[string]bool{"claude-code": true, "opencode": true}

// unlike are the sessions for which the agent counted more than the answers that it still has, or less: the tokens read,
// written and from a cache, and the dollars.
var unlike = map[string][4]float64{
	// Its sub-agent, and the request of a compaction: see TestAccount_ofClaudeCode.
	withCompaction: {4962 + 10931, 87 - 46, 80, 0},
	// Its sub-agent.
	"51111111-2222-4333-8444-555555555555": {14462 - 9430, 157 - 113, 100 - 60, 0.0459585 - 0.0301155},
	// The scripted model gave answers of two processes one id, and the compaction was a request.
	"11111111-2222-4333-8444-555555555555": {14037, 54, 60, 0.05739},
	// A fork goes on from the count of its origin, which has a branch that the fork lacks.
	"01a20bc3-2a84-71c2-8053-bc29e9e6682b": {1635, 45, 20, 0},
	// The count began anew with the request of a compaction, behind an answer of 861.
	"01a20304-5337-7113-81f0-ba209759045b": {-861, -7, -20, 0},
	// An answer that called nothing, which the converter leaves out.
	"add__1": {10, 20, 0, 0.0000135},
	// Answers that the agent deleted when it went on from an earlier one.
	"ses_dfd04f515ffeT1YRFyfbHcBk00": {9785 - 4865, 13, 40, 0.014955},
}

// Each session adds up to the tokens and the dollars that its agent counted: with the branches that were left, or without
// them where the agent forgets these.
func TestAccount_isAsTheAgentCounted(t *testing.T) {
	skip.Sequential(t)
	_, sessions := testHome(t)
	checked := map[string]int{}
	for _, s := range sessions {
		a, opened := readAccount(t, s)
		if opened.Features().Facts == nil {
			continue
		}
		counted := countedOf(t, s)
		sum := a.Sum(listPrices(t))
		if counted["counted.inputTokens"] == 0 || sum.Answers == 0 {
			continue // the agent counts nothing, or its answers tell nothing
		}
		path := sum.Sum
		left := sum.Left
		path.Input, path.Output, path.CacheRead, path.CacheWrite = path.Input-left.Input, path.Output-left.Output, path.CacheRead-left.CacheRead, path.CacheWrite-left.CacheWrite
		path.Cost -= left.Cost
		more := unlike[s.ID]
		is := func(sum query.Sum) bool {
			if besides[s.Kind] {
				sum.Input -= sum.CacheRead + sum.CacheWrite
			}
			for i, of := range []struct {
				key string
				n   float64
			}{{"inputTokens", sum.Input}, {"outputTokens", sum.Output}, {"cacheReadTokens", sum.CacheRead}, {"cost", sum.Cost}} {
				if n := counted["counted."+of.key]; n > 0 && s.ID != withCompaction && math.Abs(of.n+more[i]-n) > 1e-8 || n > 0 && i < 3 && of.n+more[i] != n {
					return false
				}
			}
			return true
		}
		if !is(sum.Sum) && !is(path) {
			t.Errorf("%s %s: %+v in all, %+v on the path, and by the agent %v", s.Kind, s.ID, sum.Sum, path, counted)
		}
		checked[s.Kind]++
	}
	for _, kind := range []string{"claude-code", "codex", "copilot-cli", "opencode", "openhands"} {
		if checked[kind] == 0 {
			t.Errorf("no session of %s tells what it counted", kind)
		}
	}
}

// withCompaction is a session of Claude Code with a sub-agent and a compaction.
const withCompaction = "e3e8e48f-7fa6-465a-9f40-10a54f2d345e"

// listPrices returns the list prices.
func listPrices(t *testing.T) *prices.List {
	t.Helper()
	list, err := prices.Load("")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// countedOf returns what the agent itself counted for a session, by the keys of the facts.
func countedOf(t *testing.T, s home.Session) map[string]float64 {
	opened, err := s.Store.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	line, err := query.ReadTimeline(t.Context(), opened, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]float64{}
	if line.Head() == model.NoNode {
		return counted
	}
	facts, err := opened.Features().Facts(t.Context(), line.Header(line.Head()).Ref())
	if err != nil {
		t.Fatal(err)
	}
	for _, fact := range facts {
		if !fact.IsCounted() {
			continue
		}
		for _, n := range fact.Numbers {
			counted[n.Key] = n.Value
		}
	}
	return counted
}

// A session whose answers tell no tokens has those that its agent counted for all of it.
func TestAccount_ofCountsAlone(t *testing.T) {
	skip.Sequential(t)
	_, sessions := testHome(t)
	checked := map[string]float64{}
	for _, s := range sessions {
		if s.Kind != "crush" && s.Kind != "openai-agents" {
			continue
		}
		a, _ := readAccount(t, s)
		sum, counted := a.Sum(listPrices(t)), countedOf(t, s)
		if sum.Cost != counted["counted.cost"] || sum.Input != counted["counted.inputTokens"] || sum.Output != counted["counted.outputTokens"] {
			t.Errorf("%s %s: %+v, and by the agent %v", s.Kind, s.ID, sum.Sum, counted)
		}
		checked[s.Kind] += sum.Cost + sum.Input
	}
	if checked["crush"] < 3.2 || checked["openai-agents"] < 124 {
		t.Errorf("%v", checked)
	}
}

// Claude Code counts the answers, the sub-agent, and the request of the compaction. No answer tells of the last: the
// count grew by it across the boundary.
func TestAccount_ofClaudeCode(t *testing.T) {
	skip.Sequential(t)
	f, err := os.Open(filepath.Join("..", "..", "testdata", "coding", "claude-code", "projects", "-home-demo", withCompaction+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // it was only read
	var last, compaction float64
	bounded := false
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var record struct {
			Type, Subtype string
			ModelUsage    map[string]struct{ InputTokens float64 }
		}
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			t.Fatal(err)
		}
		switch {
		case record.Subtype == "compact_boundary":
			bounded = true
		case record.Type == "cost-state":
			now := record.ModelUsage["claude-sonnet-4-5"].InputTokens
			if bounded {
				compaction, bounded = now-last, false
			}
			last = now
		}
	}
	if last != 34_945 || compaction != 10_931 {
		t.Fatalf("%v, of them %v for the compaction", last, compaction)
	}
	_, sessions := testHome(t)
	var own, agents query.Sum
	for _, s := range sessions {
		if s.Kind == "claude-code" && (s.ID == withCompaction || s.Parent == withCompaction) {
			a, _ := readAccount(t, s)
			sum := a.Sum(perToken(0)).Sum
			if s.Parent == "" {
				own.AddSum(sum)
			} else {
				agents.AddSum(sum)
			}
		}
	}
	fresh := func(s query.Sum) float64 { return s.Input - s.CacheRead - s.CacheWrite }
	if fresh(own) != 19_052 || fresh(agents) != 4_962 || fresh(own)+fresh(agents)+compaction != last {
		t.Errorf("%v of answers, %v of the sub-agent, %v of the compaction, and %v in all", fresh(own), fresh(agents), compaction, last)
	}
}
