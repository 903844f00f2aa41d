package claudecode

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"

	"hindcast/model"
	"hindcast/model/jsontape"
	"hindcast/model/request"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/media/tree"
)

// Since 2.1.267, some versions behind a flag, Claude Code keeps each request that it sends in parts. A part has the name
// of its hash: SHA-256 of its JSON in the canonical form, without cache_control. An answer names its request.
//
//	api-request-shape  {shapeHash, shape: {system, tools}}
//	api-request-blob   {hash, message}                 unless a record of the conversation has the very message
//	api-request        {id, base, keep, tail, shapeHash, params, cacheControl: [{path, value}], requestDigest}
//	assistant          {requestRef}
//
// A request begins with the first keep messages of its base, and tail follows. requestDigest hashes {params…, system,
// tools, messages} in the same way, with cache_control put back. The rules were found by running 2.1.330 and 2.1.332.

const typeShape, typeBlob = "api-request-shape", "api-request-blob"

// sent is an api-request record.
type sent struct {
	chat.Value
	base string
	keep int
	tail []string
}

// requests are the parts of the requests in a file.
type requests struct {
	in   engine.In
	file *chat.File[record]
	byID map[string]sent
}

// Request implements chat.Requester.
func (f *format) Request(ctx context.Context, in engine.In, s *chat.Session, e *chat.Entry) (r request.Request, err error) {
	values, err := chat.Values(in.Tree, e.File, e.Records)
	if err != nil {
		return r, err
	}
	id, source := "", ""
	for _, v := range values {
		r.Usage = mergeUsage(r.Usage, messageOf(v).Usage)
		r.Usage.Model = v.Get("message", "model").Text()
		id, source = cmp.Or(id, v.Get("requestRef").Text()), cmp.Or(source, sourceOf(v))
	}
	if r.Usage.Model == synthetic {
		r.Usage.Model = ""
	}
	if id == "" {
		return r, f.readPrompt(ctx, in, e, &r)
	}
	all, err := f.readRequests(ctx, in, e.File)
	if err != nil {
		return r, err
	}
	if _, there := all.byID[id]; !there && uuids().MatchString(source) { // the fork has copies of the answers alone
		if all, err = f.readRequests(ctx, in, tree.Join(path.Dir(e.File), source+suffix)); err != nil {
			return r, nil
		}
	}
	is, there := all.byID[id]
	if !there {
		return r, f.readPrompt(ctx, in, e, &r)
	}
	return r, all.assemble(&r, is, s, e)
}

// readPrompt puts the system prompt of the nearest snapshot of it before an answer into a request that is not kept.
//
//	attachment  {type: "prompt_snapshot", systemPrompt: [texts]}
func (f *format) readPrompt(ctx context.Context, in engine.In, e *chat.Entry, r *request.Request) error {
	file, err := f.lines.Read(ctx, in, e.File)
	if err != nil {
		return err
	}
	for _, record := range slices.Backward(file.Records) {
		if record.At >= e.Records[0].At || !record.Is.prompts || record.Salvaged {
			continue
		}
		values, err := chat.Values(in.Tree, e.File, []chat.Span{record.Span})
		if err == nil {
			r.Put("system", values[0].Get(typeAttachment, "systemPrompt").Raw())
		}
		return err
	}
	return nil
}

// readRequests reads the requests of a file.
func (f *format) readRequests(ctx context.Context, in engine.In, name string) (*requests, error) {
	file, err := f.lines.Read(ctx, in, name)
	if err != nil {
		return nil, err
	}
	all := &requests{in, file, map[string]sent{}}
	lines, err := all.lines(typeRequest)
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		v, err := chat.Parse(line)
		if err != nil {
			continue // a fault tells of the line
		}
		is := sent{Value: v, base: v.Get("base").Text(), keep: int(min(max(v.Get("keep").Number(), 0), 1e6))}
		for hash := range v.Get("tail").Each() {
			is.tail = append(is.tail, hash.Text())
		}
		all.byID[v.Get("id").Text()] = is
	}
	return all, nil
}

// lines returns the lines of a type.
func (all *requests) lines(kind string) ([][]byte, error) {
	var spans []chat.Span
	for i := range all.file.Records {
		if r := &all.file.Records[i]; r.Is.kind == kind && !r.Salvaged {
			spans = append(spans, r.Span)
		}
	}
	return chat.Raw(all.in.Tree, all.file.Name, spans)
}

// hashes returns the hashes of the messages of a request, nil where the file does not tell them.
func (all *requests) hashes(is sent) (list []string) {
	chain, seen := []sent{is}, map[string]bool{}
	for at := is; at.base != "" && at.keep > 0; chain = append(chain, at) {
		base, there := all.byID[at.base]
		if !there || seen[at.base] {
			return nil
		}
		seen[at.base], at = true, base
	}
	for _, at := range slices.Backward(chain) {
		if at.keep > len(list) {
			return nil
		}
		list = append(slices.Clip(list[:at.keep]), at.tail...)
	}
	return list
}

// assemble makes the body of a request, which an entry of a session is the answer to.
func (all *requests) assemble(r *request.Request, is sent, s *chat.Session, e *chat.Entry) error {
	r.At, r.Purpose = is.Get("timestamp").Time(), is.Get("querySource").Words()
	hashes := all.hashes(is)
	messages, err := all.find(hashes, s, e)
	if err != nil {
		return err
	}
	shape, err := all.shape(is.Get("shapeHash").Text())
	if err != nil {
		return err
	}
	var list []byte
	missing := 0
	for _, hash := range hashes {
		if message := messages[hash]; message != nil {
			list = append(append(list, ','), message...)
		} else {
			missing++
		}
	}
	switch {
	case hashes == nil:
		r.Unknown = append(r.Unknown, "messages: the request before it is not in the file")
	case missing > 0:
		r.Unknown = append(r.Unknown, fmt.Sprintf("%d of %s", missing, model.Count(len(hashes), "message")))
	}
	body := []byte{'{'}
	for _, members := range [][]byte{is.Get("params").Raw(), shape} {
		for m, err := range jsontape.Members(members) {
			if err == nil && m.Key != nil {
				body = append(append(append(append(body, m.Key...), ':'), m.Value...), ',')
			}
		}
	}
	if shape == nil {
		r.Unknown = append(r.Unknown, "system prompt", "tools")
	}
	body = append(append(append(body, `"messages":[`...), bytes.TrimPrefix(list, []byte(","))...), `]}`...)
	if r.Body, err = putCacheControl(body, is.Get("cacheControl")); err != nil {
		r.Body = body
	}
	t, err := jsontape.Parse(r.Body)
	if err != nil {
		return fmt.Errorf("%s: the request %s: %w", all.file.Name, is.Get("id").Words(), err)
	}
	r.Body = jsontape.Compact(r.Body)
	digest := is.Get("requestDigest").Text()
	text, err := t.AppendCanonical(nil, 0, nil)
	if r.Proven = err == nil && model.SnapshotID(text) == digest; !r.Proven {
		if t, err = jsontape.Parse(withBlocks(t)); err == nil {
			text, err = t.AppendCanonical(nil, 0, nil)
		}
		r.Proven = err == nil && model.SnapshotID(text) == digest
	}
	if !r.Proven && r.Unknown == nil {
		r.Unknown = append(r.Unknown, "something: the digest that Claude Code kept is of another request")
	}
	return nil
}

// withBlocks returns a request in which a text alone is a block. The hash and the digest are of that, and the text that
// stands for a compacted conversation is sent without.
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

// shape returns the system prompt and the tools of a hash, nil where the file does not have them.
func (all *requests) shape(hash string) (shape []byte, err error) {
	lines, err := all.lines(typeShape)
	for _, line := range lines {
		if jsontape.Unquote(jsontape.FindMember(line, `"shapeHash"`)) == hash {
			shape = jsontape.FindMember(line, `"shape"`)
		}
	}
	return shape, err
}

// find returns the messages of hashes, as far as the file has them. Those of the conversation are looked for from the
// answer back: they are the nearest ones.
func (all *requests) find(hashes []string, s *chat.Session, e *chat.Entry) (found map[string][]byte, err error) {
	found, missing := map[string][]byte{}, map[string]bool{}
	for _, hash := range hashes {
		missing[hash] = true
	}
	take := func(hash string, message []byte) {
		if missing[hash] {
			found[hash] = message
			delete(missing, hash)
		}
	}
	blobs, err := all.lines(typeBlob)
	if err != nil {
		return nil, err
	}
	for _, line := range blobs {
		take(jsontape.Unquote(jsontape.FindMember(line, `"hash"`)), jsontape.FindMember(line, `"message"`))
	}
	for at := s.At(e.ID); at >= 0 && len(missing) > 0; at-- {
		of := &s.Entries[at]
		if of.Said.Role != chat.Assistant && of.Said.Role != chat.User && of.Said.Role != chat.Tool {
			continue
		}
		values, err := chat.Values(all.in.Tree, of.File, of.Records)
		if err != nil {
			return found, err
		}
		for _, message := range spellings(values) {
			t, err := jsontape.Parse(message)
			if err != nil {
				continue
			}
			if text, err := t.AppendCanonical(nil, 0, isCacheControl); err == nil {
				if bytes.Contains(message, []byte(request.CacheControl)) {
					message = text
				}
				take(model.SnapshotID(text), message)
			}
		}
	}
	return found, nil
}

// spellings returns the messages of records as a request may have them: each by itself, the blocks of several as one
// message, and a text as it is or as a block.
func spellings(records []chat.Value) (list [][]byte) {
	var role, blocks []byte
	message := func(content []byte) {
		list = append(list, slices.Concat([]byte(`{"role":`), role, []byte(`,"content":`), content, []byte(`}`)))
	}
	for _, v := range records {
		content := v.Get("message", "content").Raw()
		if role = v.Get("message", "role").Raw(); len(role) == 0 || len(content) == 0 {
			continue
		}
		message(content)
		switch content[0] {
		case '"':
			content = slices.Concat([]byte(`[{"type":"text","text":`), content, []byte(`}]`))
			message(content)
		case '[':
		default:
			continue
		}
		if inner := content[1 : len(content)-1]; len(bytes.TrimSpace(inner)) > 0 {
			blocks = append(append(blocks, ','), inner...)
		}
	}
	if len(records) > 1 && len(blocks) > 0 {
		message(slices.Concat([]byte{'['}, blocks[1:], []byte{']'}))
	}
	return list
}

// isCacheControl reports whether hashes leave a member out.
func isCacheControl(key string) bool { return key == request.CacheControl }

// putCacheControl puts the marks of a cache into the body of a request.
func putCacheControl(body []byte, marks chat.Value) ([]byte, error) {
	t, err := jsontape.Parse(body)
	if err != nil {
		return nil, err
	}
	p := jsontape.NewPatch(t)
	for mark := range marks.Each() {
		n := jsontape.Node(0)
		for step := range mark.Get("path").Each() {
			if step.Kind() == jsontape.Number {
				n = t.At(n, int(step.Number()))
			} else {
				n = t.Find(n, step.Text())
			}
			if n < 0 {
				return nil, fmt.Errorf("the request has no %s", mark.Get("path").Raw())
			}
		}
		p.Put(n, request.CacheControl, mark.Get("value").Raw())
	}
	return p.Bytes(), nil
}
