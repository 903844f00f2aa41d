package openaiagents

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/model/jsontape"
	"hindcast/store/engine/rows"
)

// mainBranch is the branch that a new session object is on.
const mainBranch = "main"

// item is a row of the messages' table.
type item struct {
	id    string
	data  []byte // JSON; nil where it is none
	stamp string // the time in its row
	size  int64
	// parent is the previous item in the first branch, or -1.
	parent int
	// branches are the branches that contain the item. turn is the item's user turn in the first of them.
	branches []string
	turn     int64
	stray    bool
}

// place is an item in a branch.
type place struct {
	item             int
	branch           string
	turn, branchTurn int64
	user             bool
}

// class is which class of the SDK wrote the tables.
type class struct {
	// create makes the object of a session that has no branches, of its quoted id and of the
	// arguments that name the tables.
	create string
	// branched says that the table of the branches is about these items.
	branched bool
	// sequenced says that new items have their numbers from a sequence, which a row written with a number
	// does not move.
	sequenced bool
}

// inFile reads who wrote the tables of a file. The index of SQLAlchemySession is by time; the branches
// of AdvancedSQLiteSession refer to one table of messages in the file.
func inFile(ctx context.Context, t rows.Tx, at rows.Place) (class, error) {
	c, alchemy := class{create: "SQLiteSession(%s, path%s)"}, false
	err := t.Row(ctx, `SELECT EXISTS (SELECT 1 FROM pragma_index_list(?1, 'main') l, pragma_index_info(l.name, 'main') c WHERE c.name = 'created_at'),
		EXISTS (SELECT 1 FROM pragma_foreign_key_list('message_structure', 'main') WHERE "from" = 'message_id' AND "table" = ?1 COLLATE NOCASE)`, at.Name(messages)).Scan(&alchemy, &c.branched)
	if alchemy {
		c.create = alchemyCreates
	}
	return c, err
}

const alchemyCreates = "SQLAlchemySession.from_url(%s, url=url%s)"

// session is items of a session in their order.
type session struct {
	class
	items       []item
	first, skip int // as in rows.Span
	head        int
	// branches are the branches of AdvancedSQLiteSession, or nil.
	branches map[string][]place
	// calls reads what the items call and answer when that is asked for first.
	calls func() *calls
}

// call holds the call data of an item.
type call struct {
	encrypted bool
	// function is the name of the function that the item calls, or "". id joins a call with its output; it is
	// "" for any other item.
	function, id string
}

// calls are which items call functions, which answer them, and which wait.
type calls struct {
	of       []call // by item
	answered map[string]bool
	followed []bool // items that something else follows than calls and their outputs
}

// loadSession reads a session, all of it or from an item on, with some before it.
func (f format) loadSession(ctx context.Context, t rows.Tx, at rows.Place, from string) (*session, error) {
	is, err := f.class(ctx, t, at)
	if err != nil {
		return nil, err
	}
	span, err := kind.Span(ctx, t, at, from, rows.Context)
	if err != nil {
		return nil, err
	}
	s := &session{class: is, first: span.First, skip: span.Skip}
	s.calls = sync.OnceValue(s.readCalls)
	// Named otherwise than the columns of the table, by which the rows are sorted.
	err = rows.EachRow(ctx, span, t.Each, func(scan func(...any) error) error {
		one := item{parent: len(s.items) - 1}
		err := scan(&one.id, &one.data, &one.stamp)
		if one.size = int64(len(one.data)); !rows.PythonReads(one.data) {
			one.data = nil
		}
		s.items = append(s.items, one)
		return err
	}, "SELECT CAST(id AS TEXT) AS number, message_data, coalesce(CAST(created_at AS TEXT), '') AS stamp FROM "+at.Table(messages))
	if err != nil {
		return nil, err
	}
	s.head = len(s.items) - 1
	return s, s.readBranches(ctx, t, at)
}

func (s *session) readCalls() *calls {
	c := &calls{make([]call, len(s.items)), map[string]bool{}, make([]bool, len(s.items))}
	for i := range s.items {
		c.readItem(i, s.items[i].data)
	}
	for i := len(s.items) - 1; i >= 0; i-- {
		if parent := s.items[i].parent; parent >= 0 && (c.of[i].id == "" || c.followed[i]) {
			c.followed[parent] = true
		}
	}
	return c
}

// createdAt returns the time of an item in whole seconds, or the zero time.
func (one *item) createdAt() time.Time {
	at, _ := time.Parse(time.DateTime, one.stamp[:min(len(one.stamp), len(time.DateTime))])
	return at
}

// readItem reads what an item calls, or notes what it answers.
func (c *calls) readItem(i int, data []byte) {
	one := &c.of[i]
	one.encrypted = jsontape.FindMember(data, `"__enc__"`) != nil
	is, id := textMember(data, "type"), textMember(data, "call_id")
	switch {
	case strings.HasSuffix(is, "_call"):
		if one.id = id; id != "" {
			one.function = cmp.Or(textMember(data, "name"), is)
		}
	case strings.HasSuffix(is, "_call_output"):
		one.id, c.answered[id] = id, true
	}
}

// readBranches reads which items the branches of AdvancedSQLiteSession have, where the
// session has some. An item follows the one before it in the first branch that has it.
func (s *session) readBranches(ctx context.Context, t rows.Tx, at rows.Place) error {
	if !s.branched {
		return nil
	}
	numbers := make(map[string]int, len(s.items))
	for i := range s.items {
		numbers[s.items[i].id] = i
	}
	last := map[string]int{}
	branches := map[string][]place{}
	err := t.Each(ctx, func(scan func(...any) error) error {
		var id string
		var p place
		err := scan(&p.branch, &id, &p.user, &p.turn, &p.branchTurn)
		i, known := numbers[id]
		if err != nil || !known {
			return err
		}
		one, before := &s.items[i], -1
		if k, ok := last[p.branch]; ok {
			before = k
		}
		if one.branches == nil {
			one.parent, one.turn = before, p.turn
		}
		one.branches = append(one.branches, p.branch)
		p.item, last[p.branch] = i, i
		branches[p.branch] = append(branches[p.branch], p)
		return nil
	}, `SELECT branch_id, message_id, message_type = 'user', ifnull(user_turn_number, 0), ifnull(branch_turn_number, 0) FROM message_structure
		WHERE session_id = ? ORDER BY branch_id <> 'main', min(sequence_number) OVER (PARTITION BY branch_id), branch_id, sequence_number, id`, at.Key...)
	if err != nil || len(branches) == 0 {
		return err
	}
	s.branches = branches
	for i := range s.items {
		s.items[i].stray = s.items[i].branches == nil
	}
	if path := branches[mainBranch]; len(path) > 0 {
		s.head = path[len(path)-1].item
	} else {
		s.head = slices.Max(slices.Collect(maps.Values(last)))
	}
	return nil
}

// pathTo returns the items on the path to i, including i. It visits each item once, because an item may be the
// parent of an item with a smaller number.
func (s *session) pathTo(i int) (path []int) {
	for seen := map[int]bool{}; i >= 0 && !seen[i]; i = s.items[i].parent {
		seen[i] = true
		path = append(path, i)
	}
	slices.Reverse(path)
	return path
}

// answeredBy reports whether one of some items is the output of a call.
func (c *calls) answeredBy(id string, items []int) bool {
	return slices.ContainsFunc(items, func(k int) bool { return c.of[k].id == id && c.of[k].function == "" })
}

// isPending reports whether an item calls a function that was not answered, and nothing but
// other calls follows it.
func (c *calls) isPending(i int) bool {
	return c.of[i].function != "" && !c.answered[c.of[i].id] && !c.followed[i]
}

// endsTurn reports whether no item of the same turn follows one in its first branch.
func (s *session) endsTurn(i int) bool {
	if len(s.items[i].branches) == 0 {
		return false
	}
	path := s.branches[s.items[i].branches[0]]
	k := slices.IndexFunc(path, func(p place) bool { return p.item == i })
	return k == len(path)-1 || path[k+1].turn != path[k].turn
}
