package opencode

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine/chat"
	"hindcast/store/storetest"
)

func open(t testing.TB, dir string) store.Store {
	t.Helper()
	s, err := Kind(nil).Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// tree returns a line for each snapshot: its position, that of its parent, what it is, and why
// it is off the path.
func treeOf(t testing.TB, s store.Store, session string) []string {
	t.Helper()
	list := storetest.Headers(t, s, session)
	at := map[string]int{"": -1}
	for i := range list {
		at[list[i].ID] = i
	}
	line := model.NewTimeline(list)
	var lines []string
	for i := range list {
		h := &list[i]
		text := fmt.Sprintf("%d<%d %s", i, at[h.ParentID], h.Title)
		if h.Head {
			text += " [head]"
		}
		if h.Marks.Has(model.MarkEvicted) {
			text += " [evicted]"
		}
		if h.Orphaned {
			why := line.Reason(model.Node(i))
			text += fmt.Sprintf(" [off: %d to %d %s]", why.Kind, at[why.TargetID], why.At.Format("15:04:05"))
		}
		lines = append(lines, text)
	}
	return lines
}

// What the rows of each session and its events say, see the ids and times in them: each
// message follows the one before; what a revert deleted follows the message that was the last
// when it came.
func TestTree(t *testing.T) {
	const rewind = model.ReasonRewind
	for _, c := range []struct {
		dir, session string
		want         []string
	}{
		{fixture, "ses_dfd04f515ffeT1YRFyfbO7rYT4", []string{
			`0<-1 "first question"`,
			`1<0 reply to: "first question"`,
			`2<1 "run: ls -1"`,
			`3<2 reply to: "run: ls -1"`,
			fmt.Sprintf(`4<3 "third question" [off: %d to 3 11:31:04]`, rewind),
			fmt.Sprintf(`5<4 reply to: "third question" [off: %d to 3 11:31:04]`, rewind),
			`6<3 after revert`,
			`7<6 reply to: after revert [head]`,
		}},
		{fixture, "ses_dfd04f515ffeT1YRFyfbHcBk00", []string{
			`0<-1 "first question"`,
			`1<0 reply to: "first question"`,
			`2<1 "after import"`,
			`3<2 reply to: "after import" [head]`,
		}},
		{recorded, main, []string{
			`0<-1 "first question"`,
			`1<0 reply to: "first question"`,
			`2<1 "run: echo hi"`,
			`3<2 reply to: "run: echo hi"`,
			`4<3 "agent: look around"`,
			`5<4 reply to: "agent: look around"`,
			`6<5 run: echo hi`,
			`7<6 $ echo hi  hi`,
			`8<7 done: echo hi`,
			`9<8 agent: look around`,
			`10<9 → general "sub task"  reply to: look around → ses_df4849fdbffeijgz5IhFqqPd8u`,
			`11<10 done: look around`,
			fmt.Sprintf(`12<11 third question [off: %d to 11 02:57:14]`, rewind),
			fmt.Sprintf(`13<12 reply to: third question [off: %d to 11 02:57:14]`, rewind),
			`14<11 after the revert`,
			`15<14 reply to: after the revert`,
			`16<15 run: echo one run: echo two`,
			`17<16 $ echo one  one [head]`,
			fmt.Sprintf(`18<16 $ echo one  one · $ echo two  two [off: %d to 16 00:00:00]`, rewind),
			fmt.Sprintf(`19<18 done: echo one; echo two [off: %d to 16 00:00:00]`, rewind),
		}},
		{recorded, main + "/ses_df4849fdbffeijgz5IhFqqPd8u", []string{
			`0<-1 look around`,
			`1<0 reply to: look around [head]`,
		}},
		{recorded, compacted, []string{
			`0<-1 "first question" [evicted]`,
			`1<0 reply to: "first question" [evicted]`,
			`2<1 "run: echo hi" [evicted]`,
			`3<2 reply to: "run: echo hi" [evicted]`,
			`4<3 "agent: look around" [evicted]`,
			`5<4 reply to: "agent: look around" [evicted]`,
			`6<5 run: echo hi [evicted]`,
			`7<6 $ echo hi  hi [evicted]`,
			`8<7 done: echo hi [evicted]`,
			`9<8 agent: look around [evicted]`,
			`10<9 → general "sub task"  reply to: look around → ses_df4849fdbffeijgz5IhFqqPd8u [evicted]`,
			`11<10 done: look around [evicted]`,
			`12<11 after the revert [evicted]`,
			`13<12 reply to: after the revert [evicted]`,
			`14<13 run: echo one run: echo two [evicted]`,
			`15<14 $ echo one  one · $ echo two  two [evicted]`,
			`16<15 done: echo one; echo two [evicted]`,
			`17<16 What did we do so far?`,
			`18<17 reply to: t mention the summary process or that context was compacted.`,
			`19<18 after the compaction`,
			`20<19 reply to: after the compaction [head]`,
		}},
	} {
		if got := treeOf(t, open(t, storetest.Copy(t, c.dir)), c.session); !slices.Equal(got, c.want) {
			t.Errorf("session %s is\n  %s\ninstead of\n  %s", c.session, strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
		}
	}
}

// The ids are opencode's own, also of a message that only the events have.
func TestTree_ids(t *testing.T) {
	var ids []string
	for _, h := range storetest.Headers(t, open(t, storetest.Copy(t, fixture)), "ses_dfd04f515ffeT1YRFyfbO7rYT4") {
		ids = append(ids, h.ID)
	}
	want := []string{"msg_202fb0eb80016K2QVhNcU4I9lF", "msg_202fb2626001RYbVYBSks4Wemj", "msg_202fc6b2c001kJX79QbmG1tJTs", "msg_202fc868c001OCWX59wx3vFMbY",
		"msg_202fcb7d00012beZoWJD1E081H", "msg_202fcc12e001gjWpKNynwL1RgG", "msg_20306296f001G29USOUzOWctvh", "msg_20306326f001fH7C2QM6Cfga29"}
	if !slices.Equal(ids, want) {
		t.Errorf("they are %q", ids)
	}
}

// What is known of messages besides: that they were copied, and from where; that a revert took
// them away; the sub-agent that one started.
func TestFacts(t *testing.T) {
	for _, c := range []struct {
		dir, session string
		i            int
		name, want   string
	}{
		{fixture, "ses_dfd0301baffeLh2318dMLEVV2n", 3, "copied from", "ses_dfd04f515ffeT1YRFyfbO7rYT4 (inferred)"},
		{fixture, "ses_dfd0301baffeLh2318dMLEVV2n", 4, "copied from", "ses_dfd04f515ffeT1YRFyfbO7rYT4 (inferred)"}, // that was deleted
		{fixture, "ses_dfd0301baffeLh2318dMLEVV2n", 6, "copied from", ""},
		{fixture, "ses_dfd04f515ffeT1YRFyfbO7rYT4", 0, "copied from", ""},
		{fixture, "ses_dfd04f515ffeT1YRFyfbO7rYT4", 4, "reverted", "at seq 42"},
		{fixture, "ses_dfd04f515ffeT1YRFyfbO7rYT4", 5, "reverted", "at seq 43"},
		{fixture, "ses_dfd04f515ffeT1YRFyfbO7rYT4", 7, "model", "fake-model"},
		{fixture, "ses_dfd04f515ffeT1YRFyfbO7rYT4", 7, "provider", "fake"},
		{fixture, "ses_dfd04f515ffeT1YRFyfbO7rYT4", 6, "provider", "fake"},
		// opencode's own counts, in which it takes a file that it imports at its word
		{fixture, "ses_dfd04f515ffeT1YRFyfbO7rYT4", 7, "dollars, of the session", "0.022296"},
		{fixture, "ses_dfd04f515ffeT1YRFyfbHcBk00", 3, "dollars, of the session", "0.02976"},
		{fixture, "ses_dfd04f515ffeT1YRFyfbHcBk00", 3, "tokens read, of the session", "9785"},
		{fixture, "ses_dfd04f515ffeT1YRFyfbHcBk00", 3, "tokens from a cache, of the session", "80"},
		{fixture, "ses_dfd04f515ffeT1YRFyfbHcBk00", 3, "tokens written, of the session", "27"},
		{fixture, "ses_dfd04f515ffeT1YRFyfbHcBk00", 2, "dollars, of the session", ""},
		{recorded, main, 19, "reverted", "pending: the next prompt deletes it"},
		{recorded, main, 10, "sub-agent", main + "/ses_df4849fdbffeijgz5IhFqqPd8u"},
		{recorded, compacted, 10, "sub-agent", main + "/ses_df4849fdbffeijgz5IhFqqPd8u"},
	} {
		if got := facts(t, open(t, storetest.Copy(t, c.dir)), c.session, c.i)[c.name]; got != c.want {
			t.Errorf("%q of #%d of %s is %q instead of %q", c.name, c.i, c.session, got, c.want)
		}
	}
}

// facts returns what is known of a snapshot.
func facts(t *testing.T, s store.Store, session string, i int) map[string]string {
	t.Helper()
	list, err := s.Features().Facts(t.Context(), storetest.Headers(t, s, session)[i].Ref())
	if err != nil {
		t.Fatal(err)
	}
	is := map[string]string{}
	for _, f := range list {
		is[f.Label] = f.Value
	}
	return is
}

// session are statements for a session of one message a letter, from user and model in turn: a
// capital letter has rows alone, as one that an older opencode wrote has, and a small one has
// events besides. Then those are deleted that are named.
func session(revert, messages string, deleted ...string) (list []string) {
	list = append(list, fmt.Sprintf("INSERT INTO session VALUES ('ses_1', 'a title', '/work', '%s', 1, 2, NULL)", revert))
	seq := -1 // opencode counts from 0
	event := func(kind, data string) {
		seq++
		list = append(list, fmt.Sprintf("INSERT INTO event VALUES ('evt_%d', 'ses_1', %d, '%s', '%s')", seq, seq, kind, data))
	}
	for i, letter := range messages {
		id, role := "msg_"+strings.ToLower(string(letter)), []string{"user", "assistant"}[i%2]
		info := fmt.Sprintf(`"role":%q,"time":{"created":%d}`, role, i+1)
		list = append(list, fmt.Sprintf("INSERT INTO message VALUES ('%s', 'ses_1', %d, %d, '{%s}')", id, i+1, i+1, info))
		for part := range 2 {
			body := fmt.Sprintf(`"type":"text","text":"%s%d"`, string(letter), part)
			list = append(list, fmt.Sprintf("INSERT INTO part VALUES ('prt_%s%d', '%s', 'ses_1', %d, %d, '{%s}')", id, part, id, i+1, i+1, body))
			if letter >= 'a' {
				if part == 0 {
					event("message.updated.1", fmt.Sprintf(`{"sessionID":"ses_1","info":{"id":%q,%s}}`, id, info))
				}
				event("message.part.updated.1", fmt.Sprintf(`{"sessionID":"ses_1","part":{"id":"prt_%s%d","messageID":%q,%s}}`, id, part, id, body))
			}
		}
	}
	for _, name := range deleted {
		id := "msg_" + name
		list = append(list, "DELETE FROM part WHERE message_id = '"+id+"'", "DELETE FROM message WHERE id = '"+id+"'")
		event("message.removed.1", fmt.Sprintf(`{"sessionID":"ses_1","messageID":%q}`, id))
	}
	return list
}

// A message that was deleted follows the one that was there when it came, also where opencode
// took that one in from an older version, which logged no events.
func TestTree_rowsWithoutEvents(t *testing.T) {
	for _, c := range []struct{ messages, deleted, want string }{
		{"ABcd", "c d", "2<1 c0 [off: 6 to 1 00:00:00]"},
		{"ABcd", "c d", "3<2 d0 [off: 6 to 1 00:00:00]"},
		{"ABCdef", "d e f", "3<2 d0 [off: 6 to 2 00:00:00]"},
	} {
		s := open(t, made(t, session("", c.messages, strings.Fields(c.deleted)...)...))
		if got := treeOf(t, s, "ses_1"); !slices.Contains(got, c.want) {
			t.Errorf("%s is %q without %q", c.messages, got, c.want)
		}
	}
}

// Where a session has lost its rows and keeps its events, it has no head, and no message is on the path.
func TestTree_eventsAlone(t *testing.T) {
	for name, c := range map[string]struct {
		statements []string
		want       []string
	}{
		"a revert of all": {session("", "ab", "a", "b"), []string{"0<-1 a0 [off: 6 to -1 00:00:00]", "1<0 b0 [off: 6 to -1 00:00:00]"}},
		"no rows": {append(session("", "ab"), "DELETE FROM part", "DELETE FROM message", "DELETE FROM session"),
			[]string{"0<-1 a0 [off: 6 to -1 00:00:00]", "1<0 b0 [off: 6 to 0 00:00:00]"}},
	} {
		if got := treeOf(t, open(t, made(t, c.statements...)), "ses_1"); !slices.Equal(got, c.want) {
			t.Errorf("%s: it is\n  %s\ninstead of\n  %s", name, strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
		}
	}
}

// The record of a message is there that the first event of a session has, as in one that was
// imported: no event says that the session was created.
func TestTree_firstEvent(t *testing.T) {
	s := open(t, made(t, append(session("", "abC", "a", "b"), `UPDATE event SET data = replace(data, '"role":"user"', '"role":"user","agent":"plan"') WHERE seq = 0`)...))
	want := []string{"0<-1 a0 [off: 6 to -1 00:00:00]", "1<0 b0 [off: 6 to -1 00:00:00]", "2<-1 C0 [head]"}
	if got := treeOf(t, s, "ses_1"); !slices.Equal(got, want) {
		t.Errorf("it is\n  %s\ninstead of\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	list := storetest.Headers(t, s, "ses_1")
	if h := &list[0]; h.EventName != "user input" || h.Marks != 0 {
		t.Errorf("#0 is %+v", h)
	}
	state, err := s.State(t.Context(), list[0].Ref())
	if err != nil || !strings.Contains(string(state), `"mode":"plan"`) {
		t.Errorf("the state of #0 is %s: %v", state, err)
	}
	for _, f := range storetest.Faults(t, s, "ses_1") {
		if f.Code != FaultDeleted {
			t.Errorf("it has the fault %+v", f)
		}
	}
	if _, err := s.Features().Plan(t.Context(), model.Change{Op: model.OpFork, Ref: list[1].Ref()}); err != nil {
		t.Errorf("a fork of #1: %v", err)
	}
}

// A summary that no compaction asked for, as an older opencode wrote it, hides nothing from one
// that has a database.
func TestTree_summaryWithoutCompaction(t *testing.T) {
	summary := `UPDATE message SET data = '{"role":"assistant","summary":true,"finish":"stop","parentID":"msg_c","time":{"created":4}}' WHERE id = 'msg_d'`
	asked := `UPDATE part SET data = '{"type":"compaction"}' WHERE id = 'prt_msg_c0'`
	for i, changes := range [][]string{{summary}, {summary, asked}} {
		s := open(t, made(t, append(session("", "ABCD"), changes...)...))
		if got := strings.Count(strings.Join(treeOf(t, s, "ses_1"), "\n"), "[evicted]"); got != 2*i {
			t.Errorf("after %q %d messages are evicted", changes, got)
		}
	}
}

// A copy has what the session that it was made from had then, whatever became of that there.
func TestFacts_copiedFromWhatIsGone(t *testing.T) {
	copied := []string{"INSERT INTO session VALUES ('ses_2', 'a title', '/work', NULL, 5, 6, NULL)"}
	for i, letter := range "abc" {
		id, role := fmt.Sprintf("msg_%d", i), []string{"user", "assistant"}[i%2]
		copied = append(copied, fmt.Sprintf(`INSERT INTO message VALUES ('%s', 'ses_2', %d, %d, '{"role":%q,"time":{"created":%d}}')`, id, i+1, i+1, role, i+1))
		for part := range 2 {
			copied = append(copied, fmt.Sprintf(`INSERT INTO part VALUES ('prt_%d%d', '%s', 'ses_2', %d, %d, '{"type":"text","text":"%s%d"}')`, i, part, id, i+1, i+1, string(letter), part))
		}
	}
	for name, c := range map[string]struct {
		deleted, change string
		want            string // the messages of the copy that were copied
	}{
		"all is there":       {"", "", "012"},
		"the last is gone":   {"c", "", "012"},
		"one is gone":        {"b", "", "012"},
		"the first is gone":  {"a", "", "012"},
		"all is gone":        {"a b c", "", "012"},
		"no events":          {"c", "DELETE FROM event", "01"},
		"the copy goes on":   {"c", `UPDATE part SET data = '{"type":"text","text":"other"}' WHERE id = 'prt_20'`, "01"},
		"of another session": {"a b c", "UPDATE session SET time_created = 7 WHERE id = 'ses_1'", ""},
	} {
		s := open(t, made(t, append(slices.Concat(session("", "abc", strings.Fields(c.deleted)...), copied), c.change)...))
		got := ""
		for i := range storetest.Headers(t, s, "ses_2") {
			if facts(t, s, "ses_2", i)["copied from"] == "ses_1 (inferred)" {
				got += fmt.Sprint(i)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q were copied instead of %q", name, got, c.want)
		}
	}
}

// What was in the place of a text that was written over is a branch. A text that goes on, a result
// that comes, and a result that is cleared write over nothing.
func TestTree_textsWrittenOver(t *testing.T) {
	said := func(text string) string { return fmt.Sprintf(`"type":"text","text":%q`, text) }
	tool := func(state string) string { return `"type":"tool","tool":"bash","callID":"c","state":{` + state + `}` }
	const input, running = `"input":{"command":"ls"}`, `"status":"running","metadata":{"output":"a"},"input":{"command":"ls"}`
	for name, c := range map[string]struct {
		parts []string // "message part body", the rows have the last of each
		want  []string // the rows that come besides
	}{
		"one":               {[]string{"b 0 " + said("new")}, []string{"2<0 b0"}},
		"of the first":      {[]string{"a 0 " + said("new")}, []string{"1<-1 a0"}},
		"twice":             {[]string{"b 0 " + said("newer"), "b 0 " + said("new")}, []string{"2<0 b0", "3<0 newer"}},
		"both of a message": {[]string{"b 0 " + said("new"), "b 1 " + said("new")}, []string{"2<0 b0"}},
		"by nothing":        {[]string{"b 0 " + said("")}, []string{"2<0 b0"}},
		"it goes on":        {[]string{"b 0 " + said("b0, and more")}, nil},
		"the same":          {[]string{"b 0 " + said("b0")}, nil},
		"a call runs":       {[]string{"b 2 " + tool(running), "b 2 " + tool(`"status":"running","input":{"command":"pwd"}`)}, nil},
		"a result comes":    {[]string{"b 2 " + tool(running), "b 2 " + tool(`"status":"completed","output":"b",`+input)}, nil},
		"another result":    {[]string{"b 2 " + tool(`"status":"completed","output":"b",`+input), "b 2 " + tool(`"status":"completed","output":"a",`+input)}, []string{"2<0 b0 ($ ls  b)"}},
		"another call":      {[]string{"b 2 " + tool(`"status":"error","error":"b",`+input), "b 2 " + tool(`"status":"error","error":"b","input":{"command":"pwd"}`)}, []string{"2<0 b0 ($ ls  b)"}},
		"it is cleared":     {[]string{"b 2 " + tool(`"status":"completed","output":"b",`+input), "b 2 " + tool(`"status":"completed","output":"b","time":{"compacted":1},`+input)}, nil},
	} {
		changes := session("", "ab")
		for i, p := range c.parts {
			message, rest, _ := strings.Cut(p, " ")
			n, body, _ := strings.Cut(rest, " ")
			id := fmt.Sprintf("prt_msg_%s%s", message, n)
			changes = append(changes,
				fmt.Sprintf("INSERT OR REPLACE INTO part VALUES ('%s', 'msg_%s', 'ses_1', 1, 1, '{%s}')", id, message, body),
				fmt.Sprintf(`INSERT INTO event VALUES ('evt_1%d', 'ses_1', 1%d, 'message.part.updated.1', '{"part":{"id":%q,"messageID":"msg_%s",%s}}')`, i, i, id, message, body))
		}
		got := treeOf(t, open(t, made(t, changes...)), "ses_1")
		got = slices.DeleteFunc(got, func(line string) bool { return !strings.Contains(line, "[off:") })
		for i := range c.want {
			c.want[i] += fmt.Sprintf(" [off: %d to -1 00:00:00]", model.ReasonOverwritten)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: off the path are %q instead of %q", name, got, c.want)
		}
	}
}

// A row that has another text than its events wrote over it.
func TestTree_rowWrittenOver(t *testing.T) {
	s := open(t, made(t, append(session("", "ab"), `UPDATE part SET data = '{"type":"text","text":"new"}' WHERE id = 'prt_msg_b1'`)...))
	want := fmt.Sprintf("2<0 b0 [off: %d to -1 00:00:00]", model.ReasonOverwritten)
	if got := treeOf(t, s, "ses_1"); len(got) != 3 || got[2] != want {
		t.Errorf("it is\n  %s\nand should end with %q", strings.Join(got, "\n  "), want)
	}
	if got, want := facts(t, s, "ses_1", 2)["replaced"], "no event tells when"; got != want {
		t.Errorf("it is said to be replaced %q instead of %q", got, want)
	}
}

// opencode sends no answer that failed to the model, unless the user stopped it when it had said
// something, and nothing of one that has only begun. Each is in its own state alone, whatever
// stands before it: another one, or a compaction.
func TestTree_answersThatAreNotSent(t *testing.T) {
	const failed, stopped = `{"name":"APIError","data":{"message":"no"}}`, `{"name":"MessageAbortedError","data":{"message":"stopped"}}`
	answer := func(id, failure string) string {
		return fmt.Sprintf(`UPDATE message SET data = '{"role":"assistant","error":%s,"time":{"created":2}}' WHERE id = '%s'`, failure, id)
	}
	parts := func(id, kind string) string {
		return fmt.Sprintf(`UPDATE part SET data = '{"type":"%s","text":"B0"}' WHERE message_id = '%s'`, kind, id)
	}
	compaction := []string{
		`UPDATE part SET data = '{"type":"compaction","tail_start_id":"msg_b"}' WHERE id = 'prt_msg_c0'`,
		`UPDATE message SET data = '{"role":"assistant","summary":true,"finish":"stop","parentID":"msg_c","time":{"created":4}}' WHERE id = 'msg_d'`,
	}
	for name, c := range map[string]struct {
		changes []string
		want    string // the messages that the last state has
	}{
		"none failed":             {[]string{answer("msg_b", "null")}, "A B C D E F"},
		"one failed":              {[]string{answer("msg_b", failed)}, "A C D E F"},
		"two failed":              {[]string{answer("msg_b", failed), answer("msg_d", failed)}, "A C E F"},
		"one after another":       {[]string{answer("msg_b", failed), answer("msg_c", failed)}, "A D E F"},
		"the last one failed":     {[]string{answer("msg_f", failed)}, "A B C D E F"},
		"stopped":                 {[]string{answer("msg_b", stopped)}, "A B C D E F"},
		"stopped while it thinks": {[]string{answer("msg_b", stopped), parts("msg_b", "reasoning")}, "A C D E F"},
		"only begun":              {[]string{answer("msg_b", "null"), parts("msg_b", "step-start")}, "A C D E F"},
		"before a compaction":     {append(compaction, answer("msg_b", failed)), "C D E F"},
		"after a compaction":      {append(compaction, answer("msg_e", failed)), "C D B F"},
		"an error of no name":     {[]string{answer("msg_b", "7")}, "A C D E F"},
	} {
		s := open(t, made(t, append(session("", "ABCDEF"), c.changes...)...))
		list := storetest.Headers(t, s, "ses_1")
		if len(list) != 6 {
			t.Fatalf("%s: there are %d messages", name, len(list))
		}
		for i := range list {
			state, err := s.State(t.Context(), list[i].Ref())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range idsOf(t, state) {
				got = append(got, strings.ToUpper(strings.TrimPrefix(m, "msg_")))
			}
			if !slices.Contains(got, "ABCDEF"[i:i+1]) {
				t.Errorf("%s: the state of #%d has %q without its own message", name, i, got)
			}
			if got := strings.Join(got, " "); i == 5 && got != c.want {
				t.Errorf("%s: the last state has %q instead of %q", name, got, c.want)
			}
		}
	}
}

// idsOf returns the ids of the messages of a state.
func idsOf(t *testing.T, state []byte) (ids []string) {
	t.Helper()
	v, err := chat.Parse(state)
	if err != nil {
		t.Fatal(err)
	}
	for m := range v.Get("messages").Each() {
		if id := m.Get("raw", "info", "id").Text(); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// What opencode puts before the words of the user is no title, and an answer that was killed before
// it said something is called so.
func TestTree_titles(t *testing.T) {
	s := open(t, made(t, append(session("", "ABC"),
		`UPDATE part SET data = '{"type":"text","synthetic":true,"text":"Called the Read tool"}' WHERE id = 'prt_msg_a0'`,
		"DELETE FROM part WHERE message_id = 'msg_b'",
		`UPDATE message SET data = '{"role":"assistant","time":{"created":2}}' WHERE id = 'msg_b'`)...))
	if got, want := treeOf(t, s, "ses_1"), []string{"0<-1 A1", "1<0 (unfinished) [evicted]", "2<1 C0 [head]"}; !slices.Equal(got, want) {
		t.Errorf("they are %q instead of %q", got, want)
	}
}

// A revert that waits cuts within a message from the part on that it names; the message stays
// whole where that part is not there.
func TestTree_revertOfAPart(t *testing.T) {
	for part, want := range map[string][]string{
		"prt_msg_b1": {"0<-1 a0", "1<0 b0 [head]", "2<0 b0 [off: 6 to 0 00:00:00]", "3<2 c0 [off: 6 to 0 00:00:00]"},
		"prt_0":      {"0<-1 a0", "1<0 b0 [head]", "2<1 c0 [off: 6 to 1 00:00:00]"},
	} {
		s := open(t, made(t, session(fmt.Sprintf(`{"messageID":"msg_b","partID":%q}`, part), "abc")...))
		if got := treeOf(t, s, "ses_1"); !slices.Equal(got, want) {
			t.Errorf("with %s it is\n  %s", part, strings.Join(got, "\n  "))
		}
	}
}
