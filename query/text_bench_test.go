package query_test

import (
	"testing"

	"hindcast/model"
	"hindcast/query"
)

// cold asks sessions of which nothing is known, warm one that was asked before.
func cold(b *testing.B, s session, path string, ask func(q *query.Session, t *model.Timeline)) {
	b.Run("cold", func(b *testing.B) {
		defer perCPU(b)()
		for b.Loop() {
			_, q, t := s.asked(b, path)
			ask(q, t)
		}
	})
}

func warm(b *testing.B, s session, path string, ask func(q *query.Session, t *model.Timeline)) {
	b.Run("warm", func(b *testing.B) {
		_, q, t := s.asked(b, path)
		ask(q, t)
		defer perCPU(b)()
		for b.Loop() {
			ask(q, t)
		}
	})
}

// A text that two snapshots have, one of either case, one that each has, and expressions with and
// without a text that each match has.
func BenchmarkGrep(b *testing.B) {
	for _, s := range sessions(snapshots()) {
		path := s.at(b, snapshots())
		for name, pattern := range map[string]*query.Pattern{
			"rare": query.Literal("step 17", query.MatchCase), "folded": query.Literal("Step 17", query.IgnoreCase), "none": query.Literal("zq zq", query.SmartCase),
			"prefix": expr(b, "step 1[78]"), "free": expr(b, `[0-9]{7}[xy]`),
		} {
			ask := func(q *query.Session, _ *model.Timeline) {
				hits := 0
				for _, err := range q.Grep(b.Context(), query.Search{Pattern: pattern}) {
					if hits++; err != nil {
						b.Fatal(err)
					}
				}
			}
			b.Run(s.name+"/"+name, func(b *testing.B) {
				cold(b, s, path, ask)
				warm(b, s, path, ask)
			})
		}
	}
}

// What each snapshot adds, and what a prune would free.
func BenchmarkStats(b *testing.B) {
	for _, s := range sessions(snapshots()) {
		path := s.at(b, snapshots())
		b.Run(s.name, func(b *testing.B) {
			ask := func(q *query.Session, _ *model.Timeline) {
				for _, err := range q.Stats(b.Context()) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			cold(b, s, path, ask)
			warm(b, s, path, ask)
		})
		b.Run(s.name+"/keys", func(b *testing.B) {
			warm(b, s, path, func(q *query.Session, t *model.Timeline) {
				if _, err := q.Keys(b.Context(), t.Head()); err != nil {
					b.Fatal(err)
				}
			})
		})
		b.Run(s.name+"/freed", func(b *testing.B) {
			warm(b, s, path, func(q *query.Session, _ *model.Timeline) {
				if _, err := q.Freed(b.Context()); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

// Where the head and the snapshot before the newest branch parted, and where a session and itself
// did, by its messages.
func BenchmarkDiverge(b *testing.B) {
	for _, s := range sessions(snapshots()) {
		path := s.at(b, snapshots())
		b.Run(s.name+"/branch", func(b *testing.B) {
			cold(b, s, path, func(q *query.Session, t *model.Timeline) { q.Diverge(t.Head(), model.Node(t.Len()-1)/2) })
		})
		b.Run(s.name+"/session", func(b *testing.B) {
			cold(b, s, path, func(q *query.Session, t *model.Timeline) {
				_, other, same := s.asked(b, path)
				if p, err := q.DivergeFrom(b.Context(), t.Head(), other, same.Head()); err != nil || len(p.A.Since) > 0 {
					b.Fatal(p, err)
				}
			})
		})
	}
}
