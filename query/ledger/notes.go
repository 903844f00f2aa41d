package ledger

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"hindcast/model"
	"hindcast/store/media/files"
)

// The note of an account: the names of models, the branches, and the moments with their answers.

// Flags of a moment and of an answer in a note.
const (
	flagDropped = 1 << iota
	flagCounted
	flagPriced
)

// mostTokens bounds a count of tokens in a note: larger ones are no counts.
const mostTokens = 1 << 53

// encode returns the note of an account.
func (a *Account) encode() []byte {
	var models []string
	var moments []byte
	counts := func(list ...int) {
		for _, n := range list {
			moments = binary.AppendUvarint(moments, uint64(n))
		}
	}
	tokens := func(list ...float64) {
		for _, n := range list {
			moments = binary.AppendUvarint(moments, uint64(min(n, mostTokens)))
		}
	}
	for i := range a.Moments {
		m := &a.Moments[i]
		flags := 0
		if m.Dropped {
			flags = flagDropped
		}
		moments = binary.AppendVarint(moments, m.At.Unix())
		counts(m.Branch, flags, m.Turns, m.Calls, m.Errors, m.Failures, int(m.Waited.Milliseconds()), len(m.Answers))
		for k := range m.Answers {
			answer := &m.Answers[k]
			name := slices.Index(models, answer.Model)
			if name < 0 {
				name, models = len(models), append(models, answer.Model)
			}
			flags := 0
			if answer.Counted {
				flags |= flagCounted
			}
			if answer.Priced {
				flags |= flagPriced
			}
			counts(name, flags)
			tokens(answer.Input, answer.Output, answer.CacheRead, answer.CacheWrite, answer.CacheWriteHour, answer.Milliseconds)
			if answer.Priced {
				moments = binary.LittleEndian.AppendUint64(moments, math.Float64bits(answer.Cost))
			}
			moments = binary.LittleEndian.AppendUint64(moments, answer.Key)
		}
	}
	note := binary.AppendUvarint(nil, uint64(a.Unread))
	note = binary.AppendUvarint(note, uint64(a.Flags))
	note = binary.AppendUvarint(note, uint64(min(a.FlagTokens, mostTokens)))
	note = binary.AppendUvarint(note, uint64(len(models)))
	for _, name := range models {
		note = files.AppendText(note, name)
	}
	note = binary.AppendUvarint(note, uint64(len(a.Branches)))
	for _, b := range a.Branches {
		note = append(files.AppendText(note, b.Root), byte(b.Why))
	}
	note = binary.AppendUvarint(note, uint64(len(a.Moments)))
	return append(note, moments...)
}

// decodeAccount returns the account of a note; false if the note is damaged.
func decodeAccount(note []byte) (*Account, bool) {
	r := files.ReadNote(note)
	a := &Account{Unread: r.Count(), Flags: r.Count(), FlagTokens: float64(r.Uvarint())}
	models := make([]string, r.Items())
	for i := range models {
		models[i] = string(r.Text())
	}
	for range r.Items() {
		b := Branch{Root: string(r.Text())}
		if why := r.Bytes(1); why != nil {
			b.Why = model.ReasonKind(why[0])
		}
		a.Branches = append(a.Branches, b)
	}
	bits := func() uint64 {
		if b := r.Bytes(8); b != nil {
			return binary.LittleEndian.Uint64(b)
		}
		return 0
	}
	for range r.Items() {
		m := Moment{At: time.Unix(r.Varint(), 0).UTC(), Branch: r.Count()}
		m.Dropped = r.Count()&flagDropped != 0
		m.Turns, m.Calls, m.Errors, m.Failures = r.Count(), r.Count(), r.Count(), r.Count()
		m.Waited = time.Duration(r.Uvarint()) * time.Millisecond
		for range r.Items() {
			var answer Answer
			if name := r.Count(); name < len(models) {
				answer.Model = models[name]
			} else {
				r.Break()
			}
			flags := r.Count()
			answer.Counted, answer.Priced = flags&flagCounted != 0, flags&flagPriced != 0
			for _, n := range []*float64{&answer.Input, &answer.Output, &answer.CacheRead, &answer.CacheWrite, &answer.CacheWriteHour, &answer.Milliseconds} {
				*n = float64(r.Uvarint())
			}
			if answer.Priced {
				answer.Cost = math.Float64frombits(bits())
			}
			answer.Key = bits()
			m.Answers = append(m.Answers, answer)
		}
		if m.Branch > len(a.Branches) {
			r.Break()
		}
		a.Moments = append(a.Moments, m)
	}
	return a, !r.IsDamaged() && r.Len() == 0
}
