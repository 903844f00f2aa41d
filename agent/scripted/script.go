package scripted

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// turn is the agent's reaction to a prompt of the user: rounds of tools, and
// then an answer.
type turn struct {
	user   string
	rounds []round
	answer func(*State) string
}

// round is one answer of the model that asks for tools, which run side by side.
type round struct {
	words string
	calls []call
}

// call is a tool call: how long it takes, and what it does to the state.
type call struct {
	name, input string
	beats       int
	run         func(*State) (string, error)
}

// Session is the id of the session.
const Session = "release-1.4"

// sittings are the turns of each sitting: the first one, and those after the session
// was put back and has to take another way.
var sittings = [][]turn{
	{look, write, tidy, publish},
	{lookAgain, writeWithThanks, listOnly, publishWithThanks},
	{lookAgain, writeShort, checkLinks, publishCandidate},
}

// turnOf returns the turn that begins with the user's words.
func turnOf(words string) (turn, bool) {
	for _, sitting := range sittings {
		for _, t := range sitting {
			if t.user == words {
				return t, true
			}
		}
	}
	return turn{}, false
}

func says(words string) func(*State) string { return func(*State) string { return words } }

var look = turn{
	user: "Prepare release 1.4 of the parser. What has changed since 1.3?",
	rounds: []round{{"I look at the commits, the issues and the branches.", []call{
		{"list_commits", `{"since":"v1.3"}`, 4, func(s *State) (string, error) {
			s.Release, s.Changes = "1.4.0", []string{"input may be streamed", "errors name the line", "CRLF is one line end"}
			return "23 commits, 3 of them for users", nil
		}},
		{"list_issues", `{"milestone":"1.4"}`, 3, func(*State) (string, error) { return "9 closed, none open", nil }},
		{"list_branches", `{}`, 2, func(s *State) (string, error) {
			s.Branches = []string{"main", "release/1.3", "docs", "streaming"}
			return strings.Join(s.Branches, ", "), nil
		}},
	}}},
	answer: says("Three things that users will notice: input may be streamed, errors name the line, and CRLF is one line end."),
}

var lookAgain = turn{
	user: "Look once more, but only at what is a bug fix.",
	rounds: []round{{"I look at the issues again.", []call{
		{"list_issues", `{"milestone":"1.4","label":"bug"}`, 3, func(s *State) (string, error) {
			s.Changes = []string{"CRLF is one line end"}
			return "1 closed", nil
		}},
	}}},
	answer: says("One bug fix: CRLF is one line end."),
}

var write = turn{
	user: "Write the changelog and run the tests.",
	rounds: []round{
		{"I do both at once.", []call{
			{"write_changelog", `{"file":"CHANGELOG.draft.md"}`, 3, func(s *State) (string, error) {
				s.Changelog = slices.Clone(s.Changes)
				return fmt.Sprintf("%d entries", len(s.Changelog)), nil
			}},
			test("unit", 4, "passed"),
			{"run_tests", `{"suite":"integration"}`, 6, func(s *State) (string, error) {
				s.test("integration", "failed")
				return "", errors.New("2 of 118 failed: the proxy did not answer")
			}},
		}},
		{"The proxy was asleep. I run these again.", []call{test("integration", 5, "passed")}},
	},
	answer: func(s *State) string {
		return fmt.Sprintf("The changelog has %d entries, and all tests pass.", len(s.Changelog))
	},
}

var writeWithThanks = turn{
	user: "Write the changelog with thanks to everybody, and run the tests.",
	rounds: []round{{"I do both at once.", []call{
		{"write_changelog", `{"file":"CHANGELOG.draft.md","thanks":true}`, 3, func(s *State) (string, error) {
			s.Changelog = append(slices.Clone(s.Changes), "thanks to Ada, Grace and Edsger")
			return fmt.Sprintf("%d entries", len(s.Changelog)), nil
		}},
		test("unit", 4, "passed"),
		test("integration", 5, "passed"),
	}}},
	answer: says("The changelog thanks everybody, and all tests pass."),
}

var writeShort = turn{
	user: "Write the changelog in one line.",
	rounds: []round{{"One line it is.", []call{
		{"write_changelog", `{"file":"CHANGELOG.draft.md","lines":1}`, 3, func(s *State) (string, error) {
			s.Changelog = []string{strings.Join(s.Changes, "; ")}
			return "1 entry", nil
		}},
		test("unit", 4, "passed"),
	}}},
	answer: says("The changelog is one line."),
}

// tidy is the mistake: with the drafts the changelog is gone.
var tidy = turn{
	user: "Tidy up what nobody needs any more.",
	rounds: []round{{"I delete the other branches and all drafts.", []call{
		{"delete_branches", `{"except":["main"]}`, 4, func(s *State) (string, error) {
			s.Branches = []string{"main"}
			return "3 deleted, release/1.3 among them", nil
		}},
		{"delete_files", `{"pattern":"*.draft.md"}`, 3, func(s *State) (string, error) {
			s.Changelog = nil
			return "1 deleted, CHANGELOG.draft.md", nil
		}},
	}}},
	answer: says("Everything is tidy: one branch, no drafts."),
}

var listOnly = turn{
	user: "List what could be tidied up, and delete nothing.",
	rounds: []round{{"I only look.", []call{
		{"list_stale", `{"older_than":"90d"}`, 3, func(*State) (string, error) { return "the branch docs", nil }},
	}}},
	answer: says("Only the branch docs is old. I have left it where it is."),
}

var checkLinks = turn{
	user: "Leave the branches alone and check the links in the documentation.",
	rounds: []round{{"I follow them all.", []call{
		{"check_links", `{"dir":"docs"}`, 4, func(*State) (string, error) { return "112 links, all lead somewhere", nil }},
	}}},
	answer: says("All 112 links lead somewhere."),
}

var publish = turn{
	user:   "Tag the release and announce it.",
	rounds: []round{{"I tag it, then I announce it.", []call{tag("v1.4.0")}}, {"Now the announcement.", []call{announce}}},
	answer: announcement,
}

var publishWithThanks = turn{
	user:   "Tag it and announce it, with everything that is in the changelog.",
	rounds: []round{{"I tag it, then I announce it.", []call{tag("v1.4.0")}}, {"Now the announcement.", []call{announce}}},
	answer: announcement,
}

var publishCandidate = turn{
	user:   "Tag a release candidate, and announce that.",
	rounds: []round{{"I tag it, then I announce it.", []call{tag("v1.4.0-rc.1")}}, {"Now the announcement.", []call{announce}}},
	answer: announcement,
}

func (s *State) test(suite, result string) {
	if s.Tests == nil {
		s.Tests = map[string]string{}
	}
	s.Tests[suite] = result
}

func test(suite string, beats int, result string) call {
	return call{"run_tests", fmt.Sprintf(`{"suite":%q}`, suite), beats, func(s *State) (string, error) {
		s.test(suite, result)
		return result, nil
	}}
}

func tag(name string) call {
	return call{"tag", fmt.Sprintf(`{"name":%q}`, name), 3, func(s *State) (string, error) {
		s.Tag = name
		return "tagged", nil
	}}
}

// announce writes what the changelog says, whatever that is.
var announce = call{"announce", `{"to":"users"}`, 3, func(s *State) (string, error) {
	news := "nothing has changed"
	if len(s.Changelog) > 0 {
		news = strings.Join(s.Changelog, "; ")
	}
	s.Announcement = fmt.Sprintf("%s is out: %s.", s.Tag, news)
	return "sent to 4,021 subscribers", nil
}}

func announcement(s *State) string { return "Sent: " + s.Announcement }
