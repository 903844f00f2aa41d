package conversation

// Utterance describes a message as far as the order of messages depends on it. The zero Utterance
// means no message.
type Utterance struct {
	// Role is who speaks, UnknownRole where the message does not say.
	Role Role
	// Calls says that the message calls a tool, Answers that it has results, and Ends that a
	// result is the last of it.
	Calls, Answers, Ends bool
	// Pieces says that anything may stand before and behind the message: its role is unknown, or an
	// answer of the model may be several messages.
	Pieces bool
}

// describeMessage describes message m.
func (c *Conversation) describeMessage(m int) Utterance {
	v := &c.messages[m]
	return Utterance{
		Role: v.Role, Calls: c.hasKind(m, ToolCall), Answers: c.hasKind(m, ToolResult), Pieces: v.Role == UnknownRole || c.inPieces(m),
		Ends: v.end > v.first && c.blocks[v.end-1].Kind == ToolResult,
	}
}

// Disorder returns the code of the trouble that a message has by its place behind another, or "".
// Messages of the system stand between none, so before is never one. Of a result its call tells.
func (u Utterance) Disorder(before Utterance) (code string) {
	switch {
	case u.Role != User && u.Role != Assistant || u.Answers || u.Pieces || before.Pieces:
	case u.Role == Assistant && u.Calls && (before == Utterance{} || before.Role == Assistant):
		return MisplacedCall
	case u.Role == Assistant && before == Utterance{}:
		return ModelFirst
	case u.Role == User && before.Ends:
		return UserAfterResult
	case u.Role == before.Role:
		return RoleOrder
	}
	return ""
}

// Pairs lists the calls and results of two messages that do not fit each other, by their indexes.
type Pairs struct {
	// Missing are the calls without a result, Stale the results of no call, and Again those of
	// a call that has a result before.
	Missing, Stale, Again []int
}

// Pair compares the calls of a message with the results in the next by their ids, which call and result give.
func Pair[C, R any](calls []C, results []R, call func(C) string, result func(R) string) (p Pairs) {
	if len(calls) == 1 && len(results) == 1 && call(calls[0]) == result(results[0]) {
		return p
	}
	answers := make(map[string]int, len(calls))
	for _, c := range calls {
		answers[call(c)] = 0
	}
	for i, r := range results {
		switch n, asked := answers[result(r)]; {
		case !asked:
			p.Stale = append(p.Stale, i)
		default:
			if answers[result(r)]++; n > 0 {
				p.Again = append(p.Again, i)
			}
		}
	}
	for i, c := range calls {
		if answers[call(c)] == 0 {
			p.Missing = append(p.Missing, i)
		}
	}
	return p
}
