package journal

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"hindcast/model"
)

// An agent writes between two entries, and no change tells of it. So each entry records
// the names that came into the folders that it is about since the entry before: the store
// as it was before an entry is the store now with the entries after it taken back, and
// without the names that came since. The first entry records all names.
//
// Names are packed in groups that have the beginning and the end of their names in common:
//
//	one byte       what the group is
//	two texts      the beginning and the end of its names; of names in full, two empty ones
//	uvarint        how many items follow
//	per item       of numbers, how far from the number after the last one, and how many
//	               follow each other; of UUIDs 16 bytes; of names in full the text

// Came are the names that came into a folder.
type Came struct {
	Folder string `json:"folder"`
	Packed []byte `json:"names"`
}

const (
	groupFull = iota
	groupNumbers
	groupUUIDs
)

// mostNames bounds the names that packed names stand for: a few bytes may be a long run.
const mostNames = 4 << 20

// common is the prefix and the suffix that all names of a group share.
type common struct {
	is            byte
	before, after string
}

// packNames packs names.
func packNames(names []string) []byte {
	groups := map[common][]string{} // what is left of each name
	for _, name := range names {
		of, rest := commonOf(name)
		groups[of] = append(groups[of], rest)
	}
	var order []common
	for of := range groups {
		order = append(order, of)
	}
	slices.SortFunc(order, func(a, b common) int {
		return strings.Compare(string(a.is)+a.before+"\x00"+a.after, string(b.is)+b.before+"\x00"+b.after)
	})
	var data []byte
	for _, of := range order {
		data = appendText(appendText(append(data, of.is), of.before), of.after)
		data = of.appendItems(data, groups[of])
	}
	return data
}

// commonOf returns the group of a name, and what the name is in it.
func commonOf(name string) (of common, rest string) {
	for at := 0; at+uuidLen <= len(name); at++ {
		if _, ok := parseUUID(name[at : at+uuidLen]); ok {
			return common{groupUUIDs, name[:at], name[at+uuidLen:]}, name[at : at+uuidLen]
		}
	}
	end := strings.LastIndexAny(name, "0123456789") + 1
	start := end
	for start > 0 && name[start-1] >= '0' && name[start-1] <= '9' && end-start < 18 {
		start--
	}
	for start < end-1 && name[start] == '0' {
		start++ // what a number does not have stays before it
	}
	if start == end {
		return common{is: groupFull}, name
	}
	return common{groupNumbers, name[:start], name[end:]}, name[start:end]
}

// appendItems appends the items of a group.
func (of common) appendItems(data []byte, list []string) []byte {
	if of.is != groupNumbers {
		slices.Sort(list)
		data = binary.AppendUvarint(data, uint64(len(list)))
		for _, rest := range list {
			if id, ok := parseUUID(rest); ok && of.is == groupUUIDs {
				data = append(data, id[:]...)
			} else {
				data = appendText(data, rest)
			}
		}
		return data
	}
	var numbers []uint64
	for _, rest := range list {
		n, _ := strconv.ParseUint(rest, 10, 64) // it has at most 18 digits
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	type run struct{ from, n uint64 }
	var runs []run
	for _, n := range numbers {
		if last := len(runs) - 1; last >= 0 && runs[last].from+runs[last].n == n {
			runs[last].n++
		} else {
			runs = append(runs, run{n, 1})
		}
	}
	data = binary.AppendUvarint(data, uint64(len(runs)))
	next := uint64(0)
	for _, r := range runs {
		data = binary.AppendUvarint(binary.AppendUvarint(data, r.from-next), r.n)
		next = r.from + r.n
	}
	return data
}

var errNames = errors.New("packed names that cannot be read")

// Names returns the names, in order. The error is that of names that no journal packed.
func (c *Came) Names() (names []string, err error) {
	p := &packed{data: c.Packed}
	for len(p.data) > 0 && !p.bad {
		is, before, after := p.take(1)[0], string(p.text()), string(p.text())
		next := uint64(0)
		for n := p.number(); n > 0 && !p.bad; n-- {
			run := uint64(1)
			rest := ""
			switch is {
			case groupFull:
				rest = string(p.text())
			case groupUUIDs:
				rest = uuid.UUID(p.take(16)).String()
			case groupNumbers:
				next += p.number()
				run = p.number()
			default:
				return nil, errNames
			}
			if uint64(len(names))+run > mostNames || run > mostNames {
				return nil, errNames
			}
			for range run {
				if is == groupNumbers {
					rest = strconv.FormatUint(next, 10)
					next++
				}
				names = append(names, before+rest+after)
			}
		}
	}
	if p.bad {
		return nil, errNames
	}
	slices.Sort(names)
	return names, nil
}

const uuidLen = 36

// parseUUID reads a UUID in lowercase.
func parseUUID(text string) (id uuid.UUID, ok bool) {
	if len(text) != uuidLen || text[8] != '-' { // most texts are none
		return id, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil && id.String() == text
}

// Rows has the entry record the names that came into some folders since the entry before,
// as it does of each folder that [Draft.Expect] names. A missing folder has
// no names.
func (d *Draft) Rows(folders ...string) { d.rows = append(d.rows, folders...) }

// namesSince returns the names that came into the folders of a draft since the last entry.
func (j *Journal) namesSince(h *history, d *Draft) (list []Came, err error) {
	dirs := slices.Clone(d.rows)
	for _, g := range d.guards {
		if g.Version.Folder {
			dirs = append(dirs, g.Path)
		}
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		names, err := j.disk.Names(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		fresh := make(map[string]bool, len(names))
		for _, name := range names {
			if name != Folder && !j.o.Ignore(name) {
				fresh[name] = true
			}
		}
		h.forgetNames(dir, fresh)
		if len(fresh) == 0 {
			continue
		}
		names = names[:0]
		for name := range fresh {
			names = append(names, name)
		}
		list = append(list, Came{dir, packNames(names)})
	}
	return list, nil
}

// forgetNames takes the names away that were in a folder at the end of the last entry: what
// the newest entry says that names one counts.
func (h *history) forgetNames(dir string, names map[string]bool) {
	gone := map[string]bool{} // away since then: who has such a name came later
	seen := map[*Part]bool{}  // whose names are gone or taken away
	for i := len(h.entries) - 1; i >= 0 && len(names) > 0; i-- {
		e := &h.entries[i]
		for _, p := range e.parts {
			if e.Undone || e.Op == model.OpPurge || p.stays || seen[p] {
				continue
			}
			seen[p] = true
			for _, c := range p.Changes() {
				name := path.Base(c.Path)
				if path.Dir(c.Path) != dir || !names[name] || gone[name] {
					continue
				}
				if c.After.None() {
					gone[name] = true
				} else {
					delete(names, name)
				}
			}
		}
		for _, c := range e.Came {
			if c.Folder != dir {
				continue
			}
			list, err := c.Names()
			if err != nil {
				continue // it is recorded once more
			}
			for _, name := range list {
				if !gone[name] {
					delete(names, name)
				}
			}
		}
	}
}
