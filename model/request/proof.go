package request

import (
	"slices"

	"hindcast/model"
	"hindcast/model/jsontape"
)

// prove finds out whether the body, which t is, has the digest that the agent kept.
func (r *Request) prove(t *jsontape.Tape) {
	if r.Digest == "" {
		return
	}
	if r.Proven = isDigest(t, r.Digest); !r.Proven {
		if blocks, err := jsontape.Parse(withBlocks(t)); err == nil {
			r.Proven = isDigest(blocks, r.Digest)
		}
	}
	if !r.Proven && r.Unknown == nil {
		r.Unknown = []string{"something: the digest that the agent kept is of another request"}
	}
}

// isDigest reports whether a digest is that of a request.
func isDigest(t *jsontape.Tape, digest string) bool {
	text, err := t.AppendCanonical(nil, 0, nil)
	return err == nil && model.SnapshotID(text) == digest
}

// withBlocks returns a request in which a text alone is a block. The digest is of that, and the text that stands for a
// compacted conversation is sent without.
func withBlocks(t *jsontape.Tape) []byte {
	p := jsontape.NewPatch(t)
	list := t.Find(0, "messages")
	for n := t.First(list); n >= 0; n = t.Next(n) {
		if content := t.Find(n, "content"); t.Kind(content) == jsontape.String {
			p.Put(n, "content", slices.Concat([]byte(`[{"type":"text","text":`), t.Raw(content), []byte(`}]`)))
		}
	}
	return p.Bytes()
}
