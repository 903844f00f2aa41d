package opencode

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// newSessionID fits the ids that opencode makes.
var newSessionID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ses_[0-9a-f]{12}[0-9A-Za-z]{14}$`) })

var errNotID = errors.New("its ids are ses_, 12 digits of hex, and 14 letters or digits, such as ses_0123456789abWhatIfThisOne1")

// NewID implements chat.Forker: opencode counts the time down in the ids of sessions.
func (f *format) NewID(as string) (string, error) {
	if as == "" {
		return "ses_" + hexStamp(^(uint64(time.Now().UnixMilli()) << 12)) + randomText(14), nil
	}
	if !newSessionID().MatchString(as) {
		return "", errNotID
	}
	return as, nil
}

// hexStamp returns the low 48 bits of a number in hex.
func hexStamp(n uint64) string { return fmt.Sprintf("%x", binary.BigEndian.AppendUint64(nil, n)[2:]) }

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// randomText returns random letters and digits.
func randomText(n int) string {
	text := make([]byte, n)
	_, _ = rand.Read(text) // it never fails
	for i, b := range text {
		text[i] = letters[int(b)%len(letters)]
	}
	return string(text)
}

// ids makes ids of messages and parts that sort as they are asked for.
type ids struct {
	tail string
	n    uint64
}

// nextID returns an id for something of that time. As in opencode's ids the first 12 digits are
// the time in milliseconds and a count; of one time the number of the id tells which is greater.
func (i *ids) nextID(prefix string, created int64) string {
	i.n++
	return prefix + hexStamp(uint64(created)<<12|1) + string(letters[i.n/3844%62]) + string(letters[i.n/62%62]) + string(letters[i.n%62]) + i.tail
}

// Fork implements chat.Forker: a new file of Hindcast's own, in which the messages on the way
// to the entry are as `opencode export` writes them, under new ids. `opencode import` takes it
// into the database; nothing else writes there.
func (f *format) Fork(c chat.Cut) (*chat.Fork, error) { return f.Join(c, c.Session.Path(c.To)) }

// Join implements chat.Joiner. Messages stand in their order.
func (f *format) Join(c chat.Cut, way []*chat.Entry) (*chat.Fork, error) {
	s := c.Session
	if strings.HasPrefix(s.Spot.File, storage+"/") {
		return nil, &model.UnsupportedError{Op: model.OpFork, Reason: "its files are of opencode 0.x: start opencode once, which takes them into its database, and fork the session there"}
	}
	if len(way) > 0 && way[0].Own.(*origin).newer {
		return nil, &model.UnsupportedError{Op: model.OpFork, Reason: "it is a session of opencode 2, whose import was not tried: hindcast continue starts a session of another tool"}
	}
	list := make([]stored, len(way))
	made, names, last := ids{tail: randomText(11)}, map[string]string{}, int64(0)
	for i, e := range way {
		one, err := f.loadEntry(c.In, s, e)
		if err != nil {
			return nil, err
		}
		if !jsontape.Valid(one.info) {
			return nil, &model.UnsupportedError{Op: model.OpFork, Reason: fmt.Sprintf("the message %.60q has no record that can be read: opencode would not import it", e.ID)}
		}
		one.created = max(one.created, last)
		last = one.created
		list[i], names[one.id] = one, made.nextID("msg_", one.created)
	}
	text := append([]byte(`{"info":`), newInfo(s, c)...)
	text = append(text, `,"messages":[`...)
	for i := range list {
		m := &list[i]
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, "\n"+`{"info":`...), withNewIDs(m.info, names, "id", names[m.id], "sessionID", c.ID)...)
		text = append(text, `,"parts":[`...)
		n := 0
		for _, p := range m.parts {
			if !jsontape.Valid(p.data) {
				continue
			}
			if n++; n > 1 {
				text = append(text, ',')
			}
			text = append(text, withNewIDs(p.data, names, "id", made.nextID("prt_", m.created), "sessionID", c.ID, "messageID", names[m.id])...)
		}
		text = append(text, "]}"...)
	}
	text = append(text, "\n]}\n"...)
	name := exports + "/" + c.ID + ".json"
	file := filepath.Join(c.Dir, filepath.FromSlash(name))
	return &chat.Fork{
		Spot:    f.Spot(name),
		Steps:   tree.Steps{{Name: name, Data: text}},
		Writes:  []string{fmt.Sprintf("%s: %s of the path, under new ids, as `opencode export` writes them", name, model.Count(len(list), "message"))},
		Hazards: []string{importHazard},
		Calls:   importCalls(s, file, c.ID),
	}, nil
}

// FindRepeats implements chat.Editor. A tool's output stands beside its result, for the screen.
func (f *format) FindRepeats(_ chat.Role, _, r chat.Value, found func(place string, text chat.Value)) {
	for part := range r.Get("parts").Each() {
		found("output", part.Get("state", "metadata", "output"))
	}
}

// importHazard says how far an undo takes a session back.
const importHazard = "the session is opencode's when `opencode import` has read the file: to undo takes the file away, and not what was imported"

// newInfo returns the record of the new session: what the old one ran with, without what is of
// that one alone.
func newInfo(s *chat.Session, c chat.Cut) []byte {
	is := s.Own.(info)
	now := fmt.Sprint(c.In.Now.UnixMilli())
	text := jsontape.AppendQuoted([]byte(`{"id":`), c.ID)
	text = append(append(text, `,"time":{"created":`+now+`,"updated":`+now+`},"title":`...), jsontape.AppendQuoted(nil, strings.TrimSpace(is.Get("title").Text()+" (fork)"))...)
	for _, member := range [][2]string{{"slug", "fork-" + strings.ToLower(c.ID[len(c.ID)-6:])}, {"projectID", "global"}, {"directory", s.Project}, {"version", "1.18.33"}} {
		raw := is.Get(member[0]).Raw()
		if raw == nil {
			raw = jsontape.AppendQuoted(nil, member[1])
		}
		text = append(append(text, `,"`+member[0]+`":`...), raw...)
	}
	for _, key := range []string{"path", "agent", "model", "permission", "metadata"} {
		if v := is.Get(key); v.There() && v.Kind() != jsontape.Null {
			text = append(append(text, `,"`+key+`":`...), v.Raw()...)
		}
	}
	return append(text, '}')
}

// withNewIDs returns a record with its own id and the ids of related messages replaced.
func withNewIDs(data []byte, names map[string]string, members ...string) []byte {
	t, err := jsontape.Parse(data)
	if err != nil {
		return data
	}
	p := jsontape.NewPatch(t)
	for i := 0; i < len(members); i += 2 {
		p.Put(0, members[i], jsontape.AppendQuoted(nil, members[i+1]))
	}
	for _, key := range []string{"parentID", "tail_start_id"} {
		if name := names[chat.ValueOf(t).Get(key).Text()]; name != "" {
			p.Put(0, key, jsontape.AppendQuoted(nil, name))
		}
	}
	return p.Bytes()
}

// importCalls returns the calls that take a file into the database and go on in its session. s is in the
// same storage, and of the same project.
func importCalls(s *chat.Session, file, id string) []model.Resume {
	if whole, err := filepath.Abs(file); err == nil { // the command runs in another folder
		file = whole
	}
	call := s.Command(s.Project, "opencode", "import", file) + " && " + s.Command("", "opencode", "-s", id)
	return []model.Resume{{Call: call, Then: "takes the session into opencode's database, in the project of that folder, and goes on from there"}}
}
