package query

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/filechange"
	"hindcast/model/jsontape"
)

// Run is one line of a session, told by the calls of its tools. A line without messages, as a graph has it, is told by
// its steps: each visit is a call.
type Run struct {
	// Path are the visits of the line, the first one first.
	Path []model.Node
	// Turns are what follows each prompt of the person, and Calls the calls of all turns in their order.
	Turns []RunTurn
	Calls []Call
	// Sum adds up the line, at the prices that ReadRun got.
	Sum Sum
	// Files are the paths that changed, each once, below the session's project without that.
	Files []string
	// Answer begins the last words of the model, on one line; "" without any. It is untrusted.
	Answer string
	// From and To are the times of the first and the last visit; zero where they are not known.
	From, To time.Time
	// Unread counts the visits whose states could not be read: the run lacks what they add.
	Unread int
}

// CountFailed returns how many calls failed.
func (r *Run) CountFailed() (failed int) {
	for i := range r.Calls {
		if r.Calls[i].Failed {
			failed++
		}
	}
	return failed
}

// Elapsed returns the time from the first to the last visit; false where it is not known.
func (r *Run) Elapsed() (time.Duration, bool) {
	d := r.To.Sub(r.From)
	return d, !r.From.IsZero() && d >= 0
}

// ElapsedText returns the time of Elapsed for people, "" where it is not known.
func (r *Run) ElapsedText() string {
	if d, known := r.Elapsed(); known {
		return model.ShortTime(float64(d.Milliseconds()))
	}
	return ""
}

// maxResult bounds the text of a result in bytes.
const maxResult = 120

// Result says on one line how the run ended: the last call, if it failed or has no result, or the model's last words. It
// is untrusted.
func (r *Run) Result() string {
	if last := len(r.Calls) - 1; last >= 0 {
		switch c := &r.Calls[last]; {
		case c.Failed && c.ResultVisit == r.Path[len(r.Path)-1]:
			return "failed: " + conversation.OneLine(c.Text) + ": " + c.Outcome
		case !c.IsAnswered():
			return "open: " + conversation.OneLine(c.Text)
		}
	}
	return conversation.Cut(r.Answer, maxResult)
}

// RunTurn is a turn of a run.
type RunTurn struct {
	// Visit adds the prompt. Prompt begins it, on one line; "" where calls come before any. It is untrusted.
	Visit  model.Node
	Prompt string
	// From and To are its calls: Calls[From:To].
	From, To int
	Sum      Sum
}

// Call is a call of a tool, with its result.
type Call struct {
	// Visit adds the call, and ResultVisit its result; model.NoNode without a result.
	Visit, ResultVisit model.Node
	// Turn is the place of its turn in the run.
	Turn int
	// ID and Tool are the id and the name of the call, Input its arguments as JSON, and Text tells it on one line. All
	// are untrusted.
	ID, Tool, Text string
	Input          []byte
	// Command is the command that it runs, or "", and Exit its exit code where that is known.
	Command, Exit string
	// Failed says that the tool failed, and Refused that the person refused the call.
	Failed, Refused bool
	// Outcome is the first line of the result, and Error the class of the failure, see [ErrorClass]; "" of a call that
	// did not fail. Both are untrusted.
	Outcome, Error string
	// Result is equal of two results that are the same value; 0 without a result.
	Result uint64
	// Changes are the files that it changed.
	Changes []filechange.Change
	// Fingerprint is the same of two calls that ask for the same, see [FingerprintRule].
	Fingerprint string
	// Tokens is the share of the call in the tokens of the answer that made it, as the session counts them.
	Tokens float64
}

// IsAnswered reports whether the call has a result.
func (c *Call) IsAnswered() bool { return c.ResultVisit != model.NoNode }

// FingerprintRule says when two calls are the same.
const FingerprintRule = "the tool and its arguments: JSON whatever its spelling, white space folded, paths below the project without that; " +
	"of a command not its description, justification and limits"

// ofCommands are the arguments of a command that do not say what is run.
var ofCommands = map[string]bool{
	"description": true, "justification": true, "explanation": true, "timeout": true, "timeout_ms": true, "timeoutMs": true,
	"yield_time_ms": true, "max_output_tokens": true, "with_escalated_permissions": true, "sandbox_permissions": true, "is_background": true,
	"requires_approval": true,
}

// maxRunLine bounds the prompts and answers of a run in bytes.
const maxRunLine = 400

// spokenMessage holds the facts of a message for a run.
type spokenMessage struct {
	isPrompt       bool
	prompt, answer string
	calls, results []Call
}

// key returns a text that is the same of a message that is written anew; "" if the message has no fact for a run.
func (m *spokenMessage) key() string {
	if !m.isPrompt && m.answer == "" && len(m.calls) == 0 {
		return ""
	}
	words := []string{strconv.FormatBool(m.isPrompt), m.prompt, m.answer}
	for i := range m.calls {
		words = append(words, m.calls[i].ID, m.calls[i].Fingerprint)
	}
	return strings.Join(words, "\x00")
}

// runReader reads the line to a visit.
type runReader struct {
	*stats
	t       *model.Timeline
	project string
	prices  Prices
	files   filechange.Reader
	heard   []spokenMessage // by the numbers of messages
	told    map[int32]bool
	run     *Run
	// open are the calls of run without a result, in their order.
	open []int
}

// ReadRun reads the line that leads to a visit of a timeline, which the session follows. Its prices may be nil, and its
// project is the folder of the session, or "". The error is that of ctx, or of a store that cannot go on.
func (q *Session) ReadRun(ctx context.Context, t *model.Timeline, tip model.Node, project string, prices Prices) (*Run, error) {
	r := q.newRunReader(t, tip, project, prices)
	for n, err := range r.walk(ctx, slices.Values(r.run.Path)) {
		if err != nil {
			return nil, err
		}
		stat, err := r.stat(ctx, n)
		if err != nil {
			return nil, err
		}
		r.takeVisit(&stat)
	}
	return r.run, r.finish(ctx)
}

// StatsWithRun yields the stats of all visits as Stats does, and reads the line to one of them meanwhile, as ReadRun does.
// It calls done with that line at the end.
func (q *Session) StatsWithRun(ctx context.Context, t *model.Timeline, tip model.Node, project string, prices Prices, done func(*Run)) iter.Seq2[Stat, error] {
	return func(yield func(Stat, error) bool) {
		r := q.newRunReader(t, tip, project, prices)
		on := placesOf(r.run.Path)
		for stat, err := range r.walkStats(ctx, func(stat *Stat) {
			if _, is := on[stat.Visit]; is {
				r.takeVisit(stat)
			}
			delete(r.additions, stat.Visit)
		}) {
			if !yield(stat, err) || err != nil {
				return
			}
		}
		if err := r.finish(ctx); err != nil {
			yield(Stat{}, err)
			return
		}
		done(r.run)
	}
}

// newRunReader returns the state of a ReadRun that begins.
func (q *Session) newRunReader(t *model.Timeline, tip model.Node, project string, prices Prices) *runReader {
	r := &runReader{stats: q.newStats(), t: t, project: project, prices: prices, told: map[int32]bool{}, run: &Run{}}
	r.run.Path = r.path(tip)
	r.additions = map[model.Node]*Addition{}
	r.decoded = r.hear
	return r
}

// finish fills in the facts about a run whose visits were all taken.
func (r *runReader) finish(ctx context.Context) error {
	if len(r.run.Turns) == 0 && r.run.Answer == "" {
		r.takeSteps()
	}
	for _, n := range r.run.Path {
		if at := r.t.Header(n).CreatedAt; !at.IsZero() {
			if r.run.From.IsZero() {
				r.run.From = at
			}
			r.run.To = at
		}
	}
	return r.collectRunFiles(ctx)
}

// takeVisit adds a visit to the run. Its stat was read last.
func (r *runReader) takeVisit(stat *Stat) {
	n := stat.Visit
	if stat.Unread != nil {
		r.run.Unread++
	}
	from := len(r.run.Calls)
	if a := r.additions[n]; a != nil && !r.again(n) {
		dropped := r.droppedKeys()
		for _, number := range a.Added {
			if r.told[number] && !slices.Contains(r.newest.old, number) {
				continue // it was gone, and came back
			}
			r.told[number] = true
			if dropped != nil {
				if key := r.heard[number].key(); dropped[key] > 0 {
					dropped[key]--
					continue // a compaction wrote it anew
				}
			}
			r.takeMessage(n, &r.heard[number])
		}
	}
	delete(r.additions, n)
	add := func(s *Sum) {
		if !r.t.IsStep(n) {
			s.Snapshots++
		}
		s.Add(*stat, r.prices)
	}
	add(&r.run.Sum)
	if last := len(r.run.Turns) - 1; last >= 0 {
		add(&r.run.Turns[last].Sum)
	}
	if made := r.run.Calls[from:]; len(made) > 0 {
		tokens := 0.0
		for i := range stat.Answers {
			tokens += stat.Answers[i].Input + stat.Answers[i].Output
		}
		for i := range made {
			made[i].Tokens = tokens / float64(len(made))
		}
	}
}

// droppedKeys counts the keys of the messages that the list which was read last lacks of the one before it; nil if it
// lacks none.
func (r *runReader) droppedKeys() (keys map[string]int) {
	if r.newest.countDropped(len(r.newest.old)) == 0 {
		return nil
	}
	left := map[int32]int{}
	for _, e := range r.newest.elements {
		left[e]++
	}
	keys = map[string]int{}
	for _, e := range r.newest.old {
		if left[e]--; left[e] < 0 {
			if key := r.heard[e].key(); key != "" {
				keys[key]++
			}
		}
	}
	return keys
}

// takeMessage adds a message that a visit adds.
func (r *runReader) takeMessage(n model.Node, m *spokenMessage) {
	run := r.run
	if m.isPrompt || len(m.calls) > 0 && len(run.Turns) == 0 {
		run.Turns = append(run.Turns, RunTurn{Visit: n, Prompt: m.prompt, From: len(run.Calls), To: len(run.Calls)})
	}
	run.Answer = cmp.Or(m.answer, run.Answer)
	for _, c := range m.calls {
		c.Turn = len(run.Turns) - 1
		if c.Visit = n; c.IsAnswered() {
			c.ResultVisit = n
		} else {
			r.open = append(r.open, len(run.Calls))
		}
		run.Calls = append(run.Calls, c)
		run.Turns[c.Turn].To = len(run.Calls)
	}
	for _, result := range m.results {
		i := slices.IndexFunc(r.open, func(at int) bool {
			c := &run.Calls[at]
			return c.ID == result.ID && (c.ID != "" || result.Tool == "" || c.Tool == result.Tool)
		})
		if i < 0 {
			continue
		}
		c := &run.Calls[r.open[i]]
		r.open = slices.Delete(r.open, i, i+1)
		c.ResultVisit, c.Failed, c.Refused, c.Exit, c.Outcome, c.Result = n, result.Failed, result.Refused, result.Exit, result.Outcome, result.Result
		if c.Changes = result.Changes; c.Failed {
			c.Error = ErrorClass(c.Tool, c.Exit, c.Outcome)
		}
	}
}

// takeSteps makes each visit a call, of a line without messages.
func (r *runReader) takeSteps() {
	run := r.run
	for _, n := range run.Path {
		h := r.t.Header(n)
		event := cmp.Or(h.EventName, h.EventWord())
		input := jsontape.AppendQuoted(nil, h.Title)
		if len(run.Turns) == 0 {
			run.Turns = []RunTurn{{Visit: n}}
		}
		c := Call{Visit: n, ResultVisit: n, Tool: event, Text: strings.TrimSpace(event + " " + h.Title), Input: input, Failed: h.Marks.Has(model.MarkError),
			Fingerprint: event + " " + foldSpace(h.Title)}
		if c.Failed {
			c.Error = ErrorClass(event, "", h.Title)
		}
		run.Calls = append(run.Calls, c)
		run.Turns[0].To = len(run.Calls)
	}
}

// hear notes what a message says, when it gets its number.
func (r *runReader) hear(number int32, c *conversation.Conversation) {
	for int(number) >= len(r.heard) {
		r.heard = append(r.heard, spokenMessage{})
	}
	m := &r.heard[number]
	for i := range c.Len() {
		r.hearMessage(c, i, m)
	}
}

// hearMessage notes message i of a conversation.
func (r *runReader) hearMessage(c *conversation.Conversation, i int, m *spokenMessage) {
	t := c.Tape()
	text := func(n jsontape.Node) string {
		if t.Kind(n) != jsontape.String {
			return ""
		}
		return t.Text(n)
	}
	if c.IsPrompt(i) {
		m.isPrompt, m.prompt = true, c.LastPrompt(maxRunLine)
	}
	m.answer = cmp.Or(c.LastAnswer(maxRunLine), m.answer)
	effects := r.files.Read(c, i)
	for _, b := range c.Blocks(i) {
		switch b.Kind {
		case conversation.ToolCall:
			m.calls = append(m.calls, r.readCall(t, text(b.ID), text(b.Name), b.Body))
		case conversation.ToolResult:
			result := Call{ID: text(b.ID), Tool: text(b.Name), Failed: b.Status == conversation.Failed}
			if b.Body >= 0 {
				y := conversation.ReadYield(t.Raw(b.Body))
				result.Outcome, result.Exit, result.Result = y.First, y.Exit, t.Hash(b.Body)|1
				result.Failed = result.Failed || y.Failed || b.Status == conversation.NoStatus && y.Exit != "" && y.Exit != "0"
			}
			if k := slices.IndexFunc(effects, func(e filechange.Effect) bool { return e.ID == result.ID }); k >= 0 {
				e := &effects[k]
				result.Exit, result.Failed, result.Refused, result.Changes = cmp.Or(e.Exit, result.Exit), result.Failed || e.Failed, e.Refused, e.Changes
				effects = slices.Delete(effects, k, k+1)
			}
			m.results = append(m.results, result)
		}
	}
	for _, e := range effects { // which stand in the words of the model
		for _, change := range e.Changes {
			call := r.fingerprint(Call{Tool: cmp.Or(e.Tool, "edit"), Input: jsontape.AppendQuoted(nil, change.Path), Text: cmp.Or(e.Text, "edit "+change.Path)})
			call.Changes, call.Failed = []filechange.Change{change}, e.Failed
			m.calls = append(m.calls, call)
		}
	}
}

// readCall reads a call.
func (r *runReader) readCall(t *jsontape.Tape, id, tool string, body jsontape.Node) Call {
	c := Call{ResultVisit: model.NoNode, ID: id, Tool: tool, Input: []byte("null")}
	if body >= 0 {
		c.Input = bytes.Clone(t.Raw(body))
		if t.Kind(body) == jsontape.String { // JSON in a string
			if inner := []byte(t.Text(body)); len(inner) > 0 && (inner[0] == '{' || inner[0] == '[') && jsontape.Valid(inner) {
				c.Input = inner
			}
		}
	}
	act := conversation.NewAct(tool, c.Input)
	c.Text = act.TextIn(r.project)
	if act.Verb.IsCommand() {
		c.Command = filechange.CommandOf(c.Input)
	}
	return r.fingerprint(c)
}

// fingerprint fills in the fingerprint of a call.
func (r *runReader) fingerprint(c Call) Call {
	tape, err := jsontape.Parse(c.Input)
	spelled := c.Input
	if err == nil {
		leave := func(key string) bool { return c.Command != "" && ofCommands[key] }
		if canonical, err := tape.AppendCanonical(nil, 0, leave); err == nil {
			spelled = canonical
		}
	}
	c.Fingerprint = c.Tool + " " + cutProject(foldSpace(string(spelled)), r.project)
	return c
}

// foldSpace folds white space, and the white space that JSON escapes.
func foldSpace(text string) string {
	if strings.Contains(text, `\`) {
		text = strings.NewReplacer(`\\`, `\\`, `\n`, " ", `\t`, " ", `\r`, " ").Replace(text)
	}
	return strings.Join(strings.Fields(text), " ")
}

// cutProject leaves a folder out of the paths below it in a text of JSON.
func cutProject(text, project string) string {
	if project = strings.TrimRight(project, `/\`); project == "" {
		return text
	}
	quoted := string(jsontape.AppendQuoted(nil, project))
	folder := quoted[1 : len(quoted)-1]
	var out strings.Builder
	for {
		at := strings.Index(text, folder)
		if at < 0 {
			return out.String() + text
		}
		rest := text[at+len(folder):]
		begins := at == 0 || strings.IndexByte(` "'=(:`+"`", text[at-1]) >= 0
		switch {
		case !begins:
			out.WriteString(text[:at] + folder)
		case strings.HasPrefix(rest, "/"):
			out.WriteString(text[:at])
			rest = rest[1:]
		case strings.HasPrefix(rest, `\\`):
			out.WriteString(text[:at])
			rest = rest[2:]
		case rest == "" || strings.IndexByte(` "'):;&|`+"`", rest[0]) >= 0:
			out.WriteString(text[:at] + ".")
		default:
			out.WriteString(text[:at] + folder)
		}
		text = rest
	}
}

// ErrorClass returns the class of a failure: the tool, the exit code, and the first line of the result without its
// numbers, folders and quoted texts. Two failures of one class fail for the same reason, as far as that line tells.
func ErrorClass(tool, exit, line string) string {
	var words []string
	for word := range strings.FieldsSeq(dropQuoted(line)) {
		switch bare := strings.Trim(word, ".,:;()[]{}"); {
		case strings.ContainsAny(bare, `/\`): // a line of another number is the same place
			bare, _, _ = strings.Cut(bare[strings.LastIndexAny(bare, `/\`)+1:], ":")
			word = "…/" + bare
		case strings.ContainsAny(bare, "0123456789") && strings.Trim(bare, "0123456789.:,-+xsm%") == "":
			word = "0"
		}
		words = append(words, word)
	}
	if exit != "" {
		tool += " exit " + exit
	}
	return strings.TrimSpace(tool + ": " + strings.Join(words, " "))
}

// dropQuoted leaves out what stands in quotes on a line.
func dropQuoted(line string) string {
	for _, quote := range []string{`"`, "`"} {
		parts := strings.Split(line, quote)
		for i := 1; i+1 < len(parts); i += 2 {
			parts[i] = "…"
		}
		line = strings.Join(parts, "")
	}
	return line
}

// collectRunFiles lists the files that the run changed. The agent's copies of files tell of more than the calls.
func (r *runReader) collectRunFiles(ctx context.Context) error {
	run := r.run
	met := map[string]bool{}
	note := func(changes []filechange.Change) {
		for _, c := range changes {
			if path, _ := filechange.PathIn(r.project, c.Path); c.Path != "" && !met[path] {
				met[path] = true
				run.Files = append(run.Files, path)
			}
		}
	}
	if r.features.FileCopies != nil {
		on := map[model.Node]bool{}
		for _, n := range run.Path {
			on[n] = true
		}
		calls := map[string]*Call{}
		for i := range run.Calls {
			calls[run.Calls[i].ID] = &run.Calls[i]
		}
		for step, err := range r.Session.Files(ctx, false) {
			if err != nil && ctx.Err() == nil && errors.Is(err, model.ErrNoSession) {
				break
			}
			if err != nil {
				return fmt.Errorf("read the files of the run: %w", err)
			}
			if !on[step.Visit] {
				continue
			}
			for i := range step.Effects {
				e := &step.Effects[i]
				if c := calls[e.ID]; c != nil && e.ID != "" {
					c.Changes = e.Changes
				}
				note(e.Changes)
			}
		}
	}
	for i := range run.Calls {
		note(run.Calls[i].Changes)
	}
	return nil
}
