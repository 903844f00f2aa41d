package query

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"iter"
	"slices"
	"strconv"
	"strings"

	"hindcast/model"
	"hindcast/model/conversation"
	"hindcast/model/jsontape"
	"hindcast/model/request"
	"hindcast/store"
)

// SentHit is a text that a model was sent, in which a pattern was found.
type SentHit struct {
	// Text is the text decoded: a string, a key, or a number as it is written. The first match in it is from From up to
	// To. It is untrusted.
	Text     string
	From, To int
	// Part is the member of the request that has the text first: "system", "tools" or "messages". Message is the number
	// of its message there, -1 in no message, Role says who speaks, and Tool names a tool that is described, or is "".
	Part       string
	Message    int
	Role, Tool string
	// Path is the JSON Pointer of the block in the first request that has the text.
	Path string
	// Ranges are the requests in which it stands, in the order of the timeline.
	Ranges []SentRange
}

// SentRange is a run of requests, each the next one behind the other.
type SentRange struct {
	// From and To are the visits of the first and the last answer.
	From, To model.Node
	// Requests counts them. OnPath says whether they are on the active path.
	Requests int
	OnPath   bool
}

// SentSearch is a pattern with the blocks that GrepSent looks at.
type SentSearch struct {
	*Pattern
	// Role keeps the blocks of a role, "system" and "tool" among them, and Tool the description of the tool of a name; ""
	// keeps all.
	Role, Tool string
}

// GrepSent returns the texts of the requests of the session in which a pattern is found, each once, in the order in
// which they were sent first. Each block is searched once, however many requests have it. The error is that of ctx or of
// the store.
func (q *Session) GrepSent(ctx context.Context, search SentSearch) ([]SentHit, error) {
	g := sentGrep{SentSearch: search, texts: map[uint64]int{}, inBlock: map[int32][]int{}, last: map[int]map[model.Node]int{}}
	if err := q.newSentWalk(g.searchBlock).walk(ctx, g.note); err != nil {
		return nil, err
	}
	list := g.hits[:0]
	for _, hit := range g.hits {
		if len(hit.Ranges) > 0 {
			list = append(list, hit)
		}
	}
	slices.SortStableFunc(list, func(a, b SentHit) int {
		return cmp.Or(cmp.Compare(a.Ranges[0].From, b.Ranges[0].From), cmp.Compare(partOrder[a.Part], partOrder[b.Part]), cmp.Compare(a.Message, b.Message))
	})
	return list, nil
}

// partOrder is the order in which the parts of a request are sent.
var partOrder = map[string]int{"system": 0, "tools": 1, "messages": 2}

// sentGrep is the state of a running GrepSent.
type sentGrep struct {
	SentSearch
	hits []SentHit
	// texts are the hits by the hash of their texts, and inBlock those in a block.
	texts   map[uint64]int
	inBlock map[int32][]int
	// last has for each hit the range that a visit is the last one of.
	last map[int]map[model.Node]int
}

// searchBlock searches a block that is met the first time.
func (g *sentGrep) searchBlock(number int32, t *jsontape.Tape, block jsontape.Node) {
	take := func(text []byte) {
		from, to, ok := g.find(text)
		if !ok {
			return
		}
		sum := maphash.Bytes(seed, text)
		hit, known := g.texts[sum]
		if !known {
			hit = len(g.hits)
			g.texts[sum] = hit
			g.hits = append(g.hits, SentHit{Text: string(text), From: from, To: to})
		}
		g.inBlock[number] = append(g.inBlock[number], hit)
	}
	for n := block; n < t.End(block); n++ {
		if n > block && t.Key(n) != "" {
			take([]byte(t.Key(n)))
		}
		switch t.Kind(n) {
		case jsontape.String:
			take([]byte(t.Text(n)))
		case jsontape.Number:
			take(t.Raw(n))
		}
	}
}

// note takes in which hits a request has.
func (g *sentGrep) note(r *sentRequest) {
	if len(g.hits) == 0 {
		return
	}
	noted := map[int]bool{}
	for b := range r.yieldBlocks {
		for _, i := range g.inBlock[b.number] {
			if noted[i] || g.Role != "" && !strings.EqualFold(g.Role, b.role) || g.Tool != "" && g.Tool != b.tool {
				continue
			}
			noted[i] = true
			g.extend(i, r, &b)
		}
	}
}

// extend adds a request to the ranges of a hit, which a block of it has.
func (g *sentGrep) extend(i int, r *sentRequest, b *sentBlock) {
	hit, last := &g.hits[i], g.last[i]
	if last == nil {
		last = map[model.Node]int{}
		g.last[i] = last
		hit.Part, hit.Message, hit.Role, hit.Tool, hit.Path = b.part, -1, b.role, b.tool, "/"+b.part
		if b.at >= 0 {
			hit.Path += "/" + strconv.Itoa(b.at)
		}
		if b.part == "messages" {
			hit.Message = b.at
		}
	}
	k, goesOn := last[r.before]
	if goesOn = goesOn && hit.Ranges[k].OnPath == r.onPath; goesOn {
		delete(last, r.before)
		hit.Ranges[k].To = r.visit
		hit.Ranges[k].Requests++
	} else {
		k = len(hit.Ranges)
		hit.Ranges = append(hit.Ranges, SentRange{r.visit, r.visit, 1, r.onPath})
	}
	last[r.visit] = k
}

// sentRequest is a request of a session, by the numbers of its blocks.
type sentRequest struct {
	// visit is that of the answer, and before the one of the request before; model.NoNode for the first.
	visit, before model.Node
	onPath        bool
	// blocks are those of the body that a store has of it, and list has the messages of a state that follow them.
	blocks []sentBlock
	list   []int32
	walk   *sentWalk
	// of is the request as the store has it.
	of request.Request
}

// yieldBlocks yields the blocks in the order in which they are sent.
func (r *sentRequest) yieldBlocks(yield func(sentBlock) bool) {
	for _, b := range r.blocks {
		if !yield(b) {
			return
		}
	}
	at := 0
	for _, number := range r.list {
		if facts := *r.walk.factsOf(number); !facts.held {
			if !yield(sentBlock{number, "messages", at, facts}) {
				return
			}
			at++
		}
	}
}

// tail says how many blocks a request has, and which the last one is: of two answers in a row it tells whether they are
// one.
type tail struct {
	blocks int
	last   int32
}

func (r *sentRequest) tail() tail {
	e := tail{blocks: len(r.blocks) + len(r.list)}
	if n := len(r.list); n > 0 {
		e.last = r.list[n-1]
	} else if n := len(r.blocks); n > 0 {
		e.last = r.blocks[n-1].number
	}
	return e
}

// sentBlock is a block of a request: a part of the system prompt, a tool or a message. Blocks with one value have one
// number.
type sentBlock struct {
	number int32
	// part is the member of the request, and at the position in its array, -1 for all of the member.
	part string
	at   int
	*blockFacts
}

// blockFacts are the facts of a block that is met the first time.
type blockFacts struct {
	role, tool string
	answers    bool // a model says it
	held       bool // it is kept for later
}

// sentWalk walks over the requests of a session.
type sentWalk struct {
	*messageLists
	facts []*blockFacts
	// met is called with each block that is met the first time, and the node in it that is sent.
	met func(number int32, t *jsontape.Tape, sent jsontape.Node)
	// requests has for each visit the one with the newest answer on its path, itself included, and tails those of
	// the answers.
	requests []model.Node
	tails    map[model.Node]tail
}

// newSentWalk returns a walk over the requests.
func (q *Session) newSentWalk(met func(number int32, t *jsontape.Tape, sent jsontape.Node)) *sentWalk {
	v := q.view()
	w := &sentWalk{messageLists: v.messageLists(newNumbered()), met: met, requests: make([]model.Node, len(v.visits)), tails: map[model.Node]tail{}}
	w.decoded = w.takeBlock
	return w
}

// takeBlock notes a block that is met the first time: c has it as the one element of a list.
func (w *sentWalk) takeBlock(number int32, c *conversation.Conversation) {
	t := c.Tape()
	n := t.First(0)
	facts := &blockFacts{}
	if c.Len() > 0 {
		m := c.Message(c.Len() - 1)
		facts.role, facts.answers, facts.held = m.Role.String(), m.Role == conversation.Assistant, m.Held
	}
	*w.factsOf(number) = facts
	sent := n
	if content := t.Find(n, "content"); content >= 0 && t.Find(n, "role") >= 0 {
		sent = content // an agent's own record, and its usage, are not sent
	}
	w.met(number, t, sent)
}

// factsOf returns where the facts of a block are; those of a value that is not JSON are empty.
func (w *sentWalk) factsOf(number int32) **blockFacts {
	for int(number) >= len(w.facts) {
		w.facts = append(w.facts, &blockFacts{})
	}
	return &w.facts[number]
}

// endsWithAnswer reports whether a model says the last message of a list.
func (w *sentWalk) endsWithAnswer(list []int32) bool {
	return len(list) > 0 && (*w.factsOf(list[len(list)-1])).answers
}

// walk calls take with each request, the one before it first. A request is lent for the call.
func (w *sentWalk) walk(ctx context.Context, take func(*sentRequest)) error {
	for _, err := range w.walkDown(ctx, func(at model.Node) error {
		r, err := w.readRequest(ctx, at)
		if r != nil {
			take(r)
		}
		return err
	}) {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// readRequest returns the request that the answer of a visit came from, nil where the visit is no answer. The visit is
// loaded.
func (w *sentWalk) readRequest(ctx context.Context, n model.Node) (*sentRequest, error) {
	w.requests[n] = model.NoNode
	if p := w.visits[n].parent; p != model.NoNode {
		w.requests[n] = w.requests[p]
	}
	added, has, err := w.adds(n)
	if wrong := (*jsontape.SyntaxError)(nil); err != nil {
		if w.rope(n).err == nil && !errors.As(err, &wrong) {
			return nil, w.failed(n, err)
		}
		return nil, nil // a state that cannot be read has no request
	}
	all, old := w.newest.elements, w.newest.old
	if !has || len(added) == 0 || !w.endsWithAnswer(all) {
		return nil, nil
	}
	of := request.Request{ByState: true}
	if ask := w.features.ModelRequest; ask != nil {
		if of, err = ask(ctx, w.visits[n].ref); err != nil {
			return nil, w.failed(n, err)
		}
		switch {
		case of.ByState:
		case of.Answer != w.visits[n].ref.ID:
			return nil, nil
		default: // the answer may be of another entry than its messages
			all = old
		}
	}
	r := &sentRequest{visit: n, before: w.requests[n], onPath: w.visits[n].onPath, walk: w, of: of}
	if err := w.addBody(r, of.Body); err != nil {
		return nil, w.failed(n, err)
	}
	if !of.HasMessages() {
		if err := w.addList(r, n, all); err != nil || len(r.list) == 0 {
			return nil, err
		}
	}
	is := r.tail()
	if before, answered := w.tails[r.before]; answered && before == is && w.endsWithAnswer(old) {
		return nil, nil // the answer goes on in another snapshot, as with calls in parallel
	}
	w.requests[n], w.tails[n] = n, is
	return r, nil
}

// addList adds the messages of a list before the answer at its end, and the system prompt that a state has beside them.
func (w *sentWalk) addList(r *sentRequest, n model.Node, all []int32) error {
	for _, key := range request.PromptKeys() {
		prompt, err := w.at(n, Path{[]string{key}})
		if err != nil {
			return err
		}
		if !prompt.none() {
			w.addBlock(r, "system", -1, join(w.bytes(), prompt.pieces))
		}
	}
	for w.endsWithAnswer(all) {
		all = all[:len(all)-1]
	}
	r.list = all
	return nil
}

// addBody adds the blocks of the body of a request, nil for none.
func (w *sentWalk) addBody(r *sentRequest, body []byte) error {
	if body == nil {
		return nil
	}
	for m, err := range jsontape.Members(body) {
		if err != nil {
			return err
		}
		part := jsontape.Unquote(m.Key)
		switch {
		case !isSentPart(part):
		case m.Value[0] != '[':
			w.addBlock(r, part, -1, m.Value)
		default:
			at := 0
			for e, err := range jsontape.Members(m.Value) {
				if err != nil {
					return err
				}
				w.addBlock(r, part, at, e.Value)
				at++
			}
		}
	}
	return nil
}

func isSentPart(key string) bool { _, is := partOrder[key]; return is }

// addBlock adds a block of a request.
func (w *sentWalk) addBlock(r *sentRequest, part string, at int, block []byte) {
	number := w.number(block, piece{})
	facts := *w.factsOf(number)
	if part != "messages" {
		facts = &blockFacts{role: map[string]string{"system": "system", "tools": "tool"}[part]}
		if t, err := jsontape.Parse(block); err == nil && part == "tools" {
			facts.tool = request.ToolName(t, 0)
		}
	}
	r.blocks = append(r.blocks, sentBlock{number, part, at, facts})
}

// FindSent is [Session.Find] on the requests of the session: the visits of the answers at whose requests an expression
// turns. t is the timeline of the session. An expression that takes too long ends the sequence with a *[LimitError].
func (q *Session) FindSent(ctx context.Context, t *model.Timeline, x *Expr) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		holds, end := x.Filter(ctx)
		defer end()
		var answers []judgedAnswer
		nothing := func(int32, *jsontape.Tape, jsontape.Node) {}
		if err := q.newSentWalk(nothing).walk(ctx, func(r *sentRequest) {
			a := judgedAnswer{visit: r.visit, before: r.before, of: r.of}
			if last := len(answers) - 1; last >= 0 && bytes.Equal(answers[last].of.Body, a.of.Body) {
				a.of.Body = answers[last].of.Body // the system prompt, which many requests share
			}
			if a.of.HasMessages() {
				a.judge(ctx, a.of.Body, holds)
				a.of = request.Request{}
			}
			answers = append(answers, a)
		}); err != nil {
			yield(Found{}, err)
			return
		}
		was := map[model.Node]Turn{model.NoNode: TurnsFalse}
		for i := range answers {
			a := &answers[i]
			if a.is == Passed {
				a.complete(ctx, q.store, AroundOf(t, a.visit), holds)
			}
			if a.err != nil {
				yield(Found{Visit: a.visit, Turn: a.is, Why: a.why}, a.err)
				return
			}
			was[a.visit] = a.is
			f := Found{Visit: a.visit}
			if was[a.before] != a.is {
				f.Turn, f.Why = a.is, a.why
			}
			if !yield(f, nil) {
				return
			}
		}
	}
}

// judgedAnswer is an answer, and what an expression says of its request: TurnsTrue, TurnsFalse, or Fails and why; Passed
// where it was not asked yet. err ends the search.
type judgedAnswer struct {
	visit, before model.Node
	of            request.Request
	is            Turn
	why           string
	err           error
}

// complete judges a request whose messages the store takes from the state.
func (a *judgedAnswer) complete(ctx context.Context, s store.Store, at Around, holds func([]byte) (bool, error)) {
	of := answer{at: at.Neighbour}
	if a.of.ByState {
		if of.conversation, a.err = conversationAt(ctx, s, at.Neighbour); a.err == nil {
			of.sent = beforeAnswer(of.conversation)
			a.of.Usage = usageOf(of.conversation, of.sent)
		}
	}
	var sent *Sent
	if a.err == nil {
		sent, a.err = at.complete(ctx, s, a.of, of)
	}
	if a.is = Fails; a.err == nil {
		a.judge(ctx, sent.Body, holds)
	}
}

// judge says by an expression what the request with a body is.
func (a *judgedAnswer) judge(ctx context.Context, body []byte, holds func([]byte) (bool, error)) {
	limit := (*LimitError)(nil)
	a.is = TurnsFalse
	switch is, err := holds(body); {
	case errors.As(err, &limit) || ctx.Err() != nil:
		a.is, a.err = Fails, err
	case err != nil:
		a.is, a.why = Fails, err.Error()
	case is:
		a.is = TurnsTrue
	}
}
