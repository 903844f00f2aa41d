package conversation

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// A title says in one line what a snapshot adds to the one before it. The column of the event says who did
// it, so that a title begins with the action:
//
//	the user spoke         Weather in Paris?
//	the model answered     Paris is 18C with light rain.
//	the model called       Let me look. (get_weather {city: "Paris"} · add {a: 1})
//	tools ran              get_weather {city: "Paris"}  18C · add {a: 1}  no numbers were given
//	a turn failed          weather in Paris: the model is overloaded
//
// How much a snapshot adds depends on its store; see [Span].

const (
	// MaxTitle bounds a title in bytes, give or take a name.
	MaxTitle = 120
	// maxPart bounds the words of a title that says something else besides.
	maxPart = 60
	// callMessages is how many of the last messages tell which tools ran: those
	// that called the tools whose results came last.
	callMessages = 8
	// turnMessages is how far back the words of the user are looked for.
	turnMessages = 64
	maxTail      = 1 << 20 // bytes of messages that are decoded at once
)

// Span says how much of a conversation a snapshot adds to the one before it.
type Span uint8

// The spans.
const (
	// LastMessage: one message, as in a log of messages.
	LastMessage Span = iota
	// LastStep: what follows the last tool results, as with snapshots at the end of each tool iteration.
	// For an answer without tools it is the user's prompt.
	LastStep
	// LastTurn: what follows the last words of the user.
	LastTurn
)

// Title returns one line on what a state adds to the one before it, and reports
// whether a tool failed in its last message. It is "" for a state without messages
// in one of the usual places, and for a last message of more than a megabyte. The
// line is untrusted.
//
// A store asks for it at every capture, so it does not read the state: it skips
// to the last messages, at some gigabytes a second, and decodes only those.
func Title(state []byte, adds Span) (title string, failed bool) {
	var t Tail
	for list := range messageLists(state) {
		if t.addList(list) {
			return t.Title(adds)
		}
	}
	return "", false
}

// messageLists returns the candidates for the message list of a state, each from its bracket on.
func messageLists(state []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, place := range usualPlaces {
			list := state
			for _, key := range place {
				list = valueOf(list, key)
			}
			if list = bytes.TrimLeft(list, " \t\r\n"); bytes.HasPrefix(list, []byte("[")) && !yield(list) {
				return
			}
		}
	}
}

// Tail keeps the last messages of a list, for a title, while the list is walked over. It holds on to their
// bytes. The zero value is empty.
type Tail struct {
	last [turnMessages][]byte
	n    int
}

// Add adds the next message of the list, as it stands in the text.
func (t *Tail) Add(message []byte) {
	t.last[t.n%turnMessages] = message
	t.n++
}

// addList adds the messages of a list to an empty tail, and reports whether the text is one of any. Else
// the tail stays empty.
func (t *Tail) addList(list []byte) bool {
	for m, err := range jsontape.Members(list) {
		if err != nil {
			*t = Tail{}
			break
		}
		t.Add(m.Value)
	}
	return t.n > 0
}

// len returns how many messages are kept.
func (t *Tail) len() int { return min(t.n, turnMessages) }

// messageAt returns the message that stands so many before the last.
func (t *Tail) messageAt(before int) []byte { return t.last[(t.n-1-before)%turnMessages] }

// Title returns the title of a state that ends with these messages, as the function
// of that name does.
func (t *Tail) Title(adds Span) (title string, failed bool) {
	c := t.Decode()
	if c == nil {
		return "", false
	}
	m := c.Len() - 1
	tools := c.hasKind(m, ToolCall) || c.hasKind(m, ToolResult)
	if c.hasKind(m, ToolResult) { // its call may name the tool
		// What comes before may be damaged: then the last one is read without it.
		if more := t.decodeLast(callMessages); more != nil {
			c, m = more, more.Len()-1
		}
	}
	title, failed = c.messageTitle(m, nil)
	if adds == LastTurn || adds == LastStep && !tools {
		if asked := t.lastPrompt(adds); asked != "" {
			return asked, failed
		}
	}
	return title, failed
}

// Last returns the last message as it stands in the text, or nil.
func (t *Tail) Last() []byte {
	if t.n == 0 {
		return nil
	}
	return t.messageAt(0)
}

// Decode returns the last message alone, or nil if it cannot be read.
func (t *Tail) Decode() *Conversation { return t.decodeLast(1) }

// decodeLast returns up to n of the last messages, as many as are not too large.
func (t *Tail) decodeLast(n int) *Conversation {
	var list [][]byte // the last one first
	size := 0
	for before := range min(n, t.len()) {
		message := t.messageAt(before)
		if size += len(message) + 1; size > maxTail {
			break
		}
		list = append(list, message)
	}
	slices.Reverse(list)
	tape, _, err := jsontape.ParseTolerant(slices.Concat([]byte("["), bytes.Join(list, []byte(",")), []byte("]")))
	if err != nil {
		return nil
	}
	c := Decode(tape)
	if c.Len() == 0 {
		return nil
	}
	return c
}

// lastPrompt returns the last words of the user, "" if the span has no such words.
func (t *Tail) lastPrompt(adds Span) string {
	for before := range t.len() {
		words, answers := userWords(t.messageAt(before))
		if words != "" || answers && adds == LastStep {
			return words
		}
	}
	return ""
}

// userWords returns the beginning of the user's words in a message, or "" if another role speaks, and
// reports whether it has tool results.
func userWords(message []byte) (words string, answers bool) {
	switch role := jsontape.FindMember(message, `"role"`); {
	case string(role) == `"tool"`:
		return "", true
	case role != nil && string(role) != `"user"`:
		return "", false
	}
	c := singleMessage(message)
	if c == nil || c.messages[0].Role != User {
		return "", false
	}
	return c.messageWords(0, MaxTitle), c.hasKind(0, ToolResult)
}

// singleMessage returns the conversation of one message, or nil if it cannot be read.
func singleMessage(message []byte) *Conversation {
	t := Tail{n: 1}
	t.last[0] = message
	return t.Decode()
}

// openingMessages is among how many of the first messages the user's are looked for.
const openingMessages = 16

// Opening returns the first words that a person typed in a state, by which people know a
// session; where the program wrote all that the user says, what that begins with; "" if the user
// is not in one of the first messages. The state may be cut off behind them. It may be the list of
// messages itself. The line is untrusted.
func Opening(state []byte) string {
	var o Openings
	for list := range messageLists(state) {
		seen := 0
		for m, err := range jsontape.Members(list) {
			if err != nil || seen == openingMessages || o.HasPrompt() {
				break
			}
			seen++
			if role := jsontape.FindMember(m.Value, `"role"`); role != nil && string(role) != `"user"` {
				continue
			}
			if c := singleMessage(m.Value); c != nil && c.messages[0].Role == User {
				o.AddMessage(c, 0)
			}
		}
	}
	return o.Title()
}

// PromptTitle returns on one line what a person typed of a prompt, or what the program wrote for the user.
func PromptTitle(text string) string {
	if words, by := WordsTyped(text); by != Wrapped {
		text = words
	}
	return Cut(UnwrapText(OneLine(Cut(text, 4*MaxTitle))), MaxTitle)
}

// Openings gathers, in the order of a session, what it may be called. The zero value has nothing.
type Openings struct{ asked, set, answer, wrapped string }

// Add adds what a message of the user says, on one line.
func (o *Openings) Add(words string, by Typed) {
	switch by {
	case Prompt:
		o.asked = cmp.Or(o.asked, words)
	case Setting:
		o.set = cmp.Or(o.set, words)
	default:
		o.wrapped = cmp.Or(o.wrapped, words)
	}
}

// AddMessage adds what message m says, if it is of the user or of the model and has no result of a tool.
func (o *Openings) AddMessage(c *Conversation, m int) {
	switch role := c.messages[m].Role; {
	case c.hasKind(m, ToolResult):
	case role == User:
		_, by, _ := c.typedText(m)
		o.Add(c.messageWords(m, MaxTitle), by)
	case role == Assistant:
		o.Answer(c.messageWords(m, MaxTitle))
	}
}

// Answer adds what the model says, on one line.
func (o *Openings) Answer(words string) { o.answer = cmp.Or(o.answer, words) }

// HasPrompt reports whether a prompt was added: what follows does not count.
func (o *Openings) HasPrompt() bool { return o.asked != "" }

// Title returns the title of the session: the first prompt, else the first command to the program, else the
// first answer, else the text that the program wrote for the user, or "".
func (o *Openings) Title() string { return cmp.Or(o.asked, o.set, o.answer, o.wrapped) }

// IsPrompt reports whether a person typed message m to the model, or sent it without words, such as a picture alone.
func (c *Conversation) IsPrompt(m int) bool {
	if m >= c.Len() || c.messages[m].Role != User {
		return false
	}
	if _, by, _ := c.typedText(m); by != Wrapped {
		return by == Prompt
	}
	blocks := c.Blocks(m)
	for i := range blocks {
		b := &blocks[i]
		if b.Kind == ToolResult || b.isAside() || b.Kind == Text && !c.IsBlank(b) {
			return false
		}
	}
	return true
}

// messageTitle returns the title of message m alone. calls are calls of messages that c does not have, by their ids.
func (c *Conversation) messageTitle(m int, calls map[string]Act) (title string, failed bool) {
	var made []string
	var results Acts
	blocks := c.Blocks(m)
	for i := range blocks {
		switch b := &blocks[i]; b.Kind {
		case ToolCall:
			made = append(made, c.actOf(b).Text)
		case ToolResult:
			act, known := calls[c.textOf(b.ID)]
			switch {
			case b.Pair >= 0:
				act = c.actOf(c.Block(int(b.Pair)))
			case !known:
				act.Text = OneLine(c.ToolName(b))
			}
			y := ReadYield(c.bodyOf(b))
			y.Failed = y.Failed || b.Status == Failed
			results.Add(act.Text, act.Outcome(y), y.Failed)
		}
	}
	switch {
	case len(made) > 0:
		return Calls(c.messageWords(m, maxPart), JoinActs(made)), false
	case len(results.lines) > 0:
		return results.Title(), len(results.failed) > 0
	}
	return c.messageWords(m, MaxTitle), false
}

// addCalls adds the calls of message m to a map, by their ids. The map may be nil.
func (c *Conversation) addCalls(m int, calls map[string]Act) {
	blocks := c.Blocks(m)
	for i := range blocks {
		if b := &blocks[i]; calls != nil && b.Kind == ToolCall {
			calls[c.textOf(b.ID)] = c.actOf(b)
		}
	}
}

// textOf returns the beginning of a text, "" for any other node.
func (c *Conversation) textOf(n Node) string {
	if n < 0 || c.tape.Kind(n) != jsontape.String {
		return ""
	}
	return string(c.tape.AppendText(nil, n, maxName))
}

// actOf describes a call.
func (c *Conversation) actOf(call *Block) Act { return NewAct(c.ToolName(call), c.bodyOf(call)) }

// bodyOf returns the body of a block as it stands in the text, nil without one.
func (c *Conversation) bodyOf(b *Block) []byte {
	if b.Body < 0 {
		return nil
	}
	return c.tape.Raw(b.Body)
}

// messageWords returns the beginning of the text of message m, without tool calls and results, on one line of up
// to limit bytes.
func (c *Conversation) messageWords(m, limit int) string {
	if c.messages[m].Role == User {
		if said, by, around := c.typedText(m); around && by != Wrapped {
			return Cut(said, limit)
		}
	}
	line, blank := []byte(nil), false
	blocks := c.Blocks(m)
	for i := range blocks {
		b := &blocks[i]
		if b.Kind == ToolCall || b.Kind == ToolResult || b.isAside() && len(blocks) > 1 || b.Kind == CachePoint {
			continue
		}
		if len(line) >= limit {
			line = append(bytes.TrimSuffix(line, []byte("…")), "…"...)
			break
		}
		if len(line) > 0 {
			line = append(line, ' ')
		}
		line = c.appendBrief(line, b, limit-len(line), "")
		blank = blank || b.Kind == Text && c.IsBlank(b)
	}
	said := OneLine(string(line))
	if c.messages[m].Role == User {
		said = UnwrapText(said)
	}
	if said != "" || !blank {
		return said
	}
	return BlankText
}

// BlankText stands for a text without words.
const BlankText = "[blank text]"

// typedText returns the part of the user's message m that a person typed, on one line. around reports
// whether the program wrote something around it.
func (c *Conversation) typedText(m int) (words string, by Typed, around bool) {
	first := -1
	words, by = FirstTyped(func(yield func(string) bool) {
		blocks := c.Blocks(m)
		for i := range blocks {
			if b := &blocks[i]; b.Kind == Text {
				text := string(c.tape.AppendText(nil, b.Body, mostTyped))
				if first < 0 {
					first = len(strings.TrimSpace(text))
				}
				if !yield(text) {
					return
				}
			}
		}
	})
	return Cut(OneLine(Cut(words, 4*MaxTitle)), MaxTitle), by, first >= 0 && len(words) != first
}

// Calls returns the title of a message of the model that calls tools: what it says,
// and the calls, both cut so that they have room.
func Calls(words, acts string) string {
	if words == "" {
		return acts
	}
	words = Cut(words, maxPart)
	return words + " (" + Cut(acts, MaxTitle-len(words)-len(" ()")) + ")"
}

// Outcome returns how a title names a tool that ran: "add ok", or "add: no numbers"
// where failure says why it failed. status may be "".
func Outcome(tool, status, failure string) string {
	switch {
	case failure != "":
		return tool + ": " + Cut(failure, maxPart)
	case status != "":
		return tool + " " + status
	}
	return tool
}

// Acts gathers the calls of one row and their outcomes. The zero value is empty.
type Acts struct{ lines, failed []string }

// Add adds a call and its outcome, which may be "".
func (a *Acts) Add(act, outcome string, failed bool) {
	line := act
	if outcome != "" {
		line += model.BeforeOutcome + outcome
	}
	if a.lines = append(a.lines, line); failed {
		a.failed = append(a.failed, line)
	}
}

// Title returns the title of the row: the calls that failed come first.
func (a *Acts) Title() string {
	if len(a.failed) == 0 || len(a.lines) == 1 {
		return JoinActs(a.lines)
	}
	rest := slices.DeleteFunc(slices.Clone(a.lines), func(line string) bool { return slices.Contains(a.failed, line) })
	return JoinActs(slices.Concat(a.failed, rest))
}

// FailedTurn returns the title of a turn that failed: what the user asked, and why it
// failed. Either may be "".
func FailedTurn(asked, failure string) string {
	if asked == "" || failure == "" {
		return Cut(asked+failure, MaxTitle)
	}
	return Cut(Cut(asked, maxPart)+": "+failure, MaxTitle)
}

// Cut returns a text of at most limit bytes, with an ellipsis where it was longer.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return strings.TrimSuffix(text[:limit], "…") + "…"
}

// JoinActs joins calls, with their outcomes or without, as far as a title has room. Arguments and outcomes are full of
// commas, and end in full stops.
func JoinActs(lines []string) string { return joinItems(lines, model.BetweenActs, strings.Clone) }

// List joins what text says of each item by commas, as far as a title has room.
func List[T any](items []T, text func(T) string) string { return joinItems(items, ", ", text) }

// joinItems joins what text says of each item, as far as a title has room.
func joinItems[T any](items []T, separator string, text func(T) string) string {
	var line strings.Builder
	for i, item := range items {
		if i > 0 {
			line.WriteString(separator)
		}
		if line.Len() > MaxTitle {
			line.WriteString("…")
			break
		}
		line.WriteString(text(item))
	}
	return line.String()
}

// OneLine puts single spaces where there is white space.
func OneLine(text string) string {
	if isOneLine(text) {
		return text
	}
	return strings.Join(strings.Fields(text), " ")
}

// isOneLine reports whether a text of ASCII is on one line already.
func isOneLine(text string) bool {
	last := byte(' ')
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c >= utf8.RuneSelf || c == ' ' && last == ' ' {
			return false
		}
		last = c
	}
	return last != ' ' || text == ""
}

// valueOf returns the text from where the value of a key begins in the object that data holds, or nil. The text may be cut off behind the key.
func valueOf(data []byte, key string) []byte {
	c, err := jsontape.CursorAt(data, 0)
	for err == nil {
		m, _, broken := c.Head(data)
		if broken != nil || m.Key == nil { // the end, or an array
			return nil
		}
		if string(m.Key[1:len(m.Key)-1]) == key {
			return data[m.Offset:]
		}
		var end int
		if end, err = jsontape.Skip(data, m.Offset); err == nil {
			err = c.Pass(data, end)
		}
	}
	return nil
}
