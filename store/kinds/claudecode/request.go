package claudecode

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"sync"

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

// requests are the parts of the requests in a file. A part is read and decoded once for all requests that have it, as
// long as texts holds it. It is safe for concurrent use.
type requests struct {
	file *chat.File[record]
	byID map[string]sent
	// shapes and blobs are the records of these types, by hash.
	shapes, blobs map[string]chat.Span

	mu sync.Mutex
	// spelled says where records of the conversation have messages, by hash, and seen has the records that were looked at.
	spelled map[string]*spelling
	seen    map[recordPlace]bool
	// texts are shapes and messages, by hash.
	texts engine.Recent[[]byte]
	// lastID is the request that was assembled last, and last the hashes of its messages.
	lastID string
	last   []string
}

// recordPlace is the file and the place of the first record of an entry.
type recordPlace struct {
	file string
	at   int64
}

// spelling is the records of an entry.
type spelling struct {
	file    string
	records []chat.Span
}

const (
	// mostTexts bounds the texts of the requests of a file that are held, in bytes.
	mostTexts = 16 << 20
	// mostRequested bounds the files whose requests are held: that of a session, and the one that it was forked from.
	mostRequested = 2
)

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
	return r, all.assemble(in, &r, is, s, e)
}

// readPrompt puts the system prompt of the nearest snapshot of it before an answer into a request that is not kept.
//
//	attachment  {type: "prompt_snapshot", systemPrompt: [texts]}
func (f *format) readPrompt(ctx context.Context, in engine.In, e *chat.Entry, r *request.Request) error {
	file, err := f.lines.Read(ctx, in, e.File)
	if err != nil {
		return err
	}
	for i := range slices.Backward(file.Records) {
		record := &file.Records[i]
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

// readRequests reads the requests of a file, once as long as the file is the same.
func (f *format) readRequests(ctx context.Context, in engine.In, name string) (*requests, error) {
	file, err := f.lines.Read(ctx, in, name)
	if err != nil {
		return nil, err
	}
	f.requestsMu.Lock()
	known, _ := f.requests.Get(name, mostRequested)
	f.requestsMu.Unlock()
	if known != nil && known.file == file {
		return known, nil
	}
	all := &requests{file: file, byID: map[string]sent{}, spelled: map[string]*spelling{}, seen: map[recordPlace]bool{}}
	spans, lines, err := all.lines(in, typeRequest)
	if err != nil {
		return nil, err
	}
	for i := range spans {
		v, err := chat.Parse(lines[i])
		if err != nil {
			continue // a fault tells of the line
		}
		is := sent{Value: v, base: v.Get("base").Text(), keep: int(min(max(v.Get("keep").Number(), 0), 1e6))}
		for hash := range v.Get("tail").Each() {
			is.tail = append(is.tail, hash.Text())
		}
		all.byID[v.Get("id").Text()] = is
	}
	if all.shapes, err = all.findHashes(in, typeShape, `"shapeHash"`); err != nil {
		return nil, err
	}
	if all.blobs, err = all.findHashes(in, typeBlob, `"hash"`); err != nil {
		return nil, err
	}
	f.requestsMu.Lock()
	defer f.requestsMu.Unlock()
	f.requests.Put(name, all, 1, mostRequested)
	return all, nil
}

// lines returns the lines of a type.
func (all *requests) lines(in engine.In, kind string) (spans []chat.Span, lines [][]byte, err error) {
	for i := range all.file.Records {
		if r := &all.file.Records[i]; r.Is.kind == kind && !r.Salvaged {
			spans = append(spans, r.Span)
		}
	}
	lines, err = chat.Raw(in.Tree, all.file.Name, spans)
	return spans, lines, err
}

// findHashes returns where the lines of a type are, by the hash that a member of them has.
func (all *requests) findHashes(in engine.In, kind, member string) (map[string]chat.Span, error) {
	spans, lines, err := all.lines(in, kind)
	places := map[string]chat.Span{}
	for i, line := range lines {
		places[jsontape.Unquote(jsontape.FindMember(line, member))] = spans[i]
	}
	return places, err
}

// hashes returns the hashes of the messages of a request, nil where the file does not tell them.
func (all *requests) hashes(id string) (list []string) {
	chain, seen := []sent{all.byID[id]}, map[string]bool{}
	for at := chain[0]; at.base != "" && at.keep > 0; chain = append(chain, at) {
		if at.base == all.lastID {
			list = all.last
			break
		}
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
	all.lastID, all.last = id, list
	return list
}

// assemble makes the body of a request, which an entry of a session is the answer to.
func (all *requests) assemble(in engine.In, r *request.Request, is sent, s *chat.Session, e *chat.Entry) error {
	all.mu.Lock()
	defer all.mu.Unlock()
	r.At, r.Purpose, r.Digest = is.Get("timestamp").Time(), is.Get("querySource").Words(), is.Get("requestDigest").Text()
	hashes := all.hashes(is.Get("id").Text())
	messages, err := all.findMessages(in, hashes, s, e)
	if err != nil {
		return err
	}
	shape, err := all.textOf(in, all.shapes, is.Get("shapeHash").Text(), `"shape"`)
	if err != nil {
		return err
	}
	missing := 0
	for _, message := range messages {
		if message == nil {
			missing++
		}
	}
	switch {
	case hashes == nil:
		r.Unknown = append(r.Unknown, "messages: the request before it is not in the file")
	case missing > 0:
		r.Unknown = append(r.Unknown, fmt.Sprintf("%d of %s", missing, model.Count(len(hashes), "message")))
	}
	if shape == nil {
		r.Unknown = append(r.Unknown, "system prompt", "tools")
	}
	var members []jsontape.Member
	for _, part := range [][]byte{jsontape.Compact(is.Get("params").Raw()), shape} {
		for m, err := range jsontape.Members(part) {
			if err == nil && m.Key != nil {
				members = append(members, m)
			}
		}
	}
	for mark := range is.Get("cacheControl").Each() {
		putCacheControl(members, messages, mark)
	}
	body := []byte{'{'}
	for _, m := range members {
		body = append(append(append(append(body, m.Key...), ':'), m.Value...), ',')
	}
	messages = slices.DeleteFunc(messages, func(message []byte) bool { return message == nil })
	r.Body = slices.Concat(body, []byte(`"messages":[`), bytes.Join(messages, []byte(",")), []byte(`]}`))
	return nil
}

// textOf returns the member of the record that has a hash among places, nil where there is none.
func (all *requests) textOf(in engine.In, places map[string]chat.Span, hash, member string) ([]byte, error) {
	span, there := places[hash]
	text, held := all.texts.Get(hash, mostTexts)
	if held || !there {
		return text, nil
	}
	lines, err := chat.Raw(in.Tree, all.file.Name, []chat.Span{span})
	if err != nil {
		return nil, err
	}
	return all.holdText(hash, jsontape.FindMember(lines[0], member)), nil
}

// holdText holds the text of a hash, and returns it without white space.
func (all *requests) holdText(hash string, text []byte) []byte {
	text = slices.Clone(jsontape.Compact(text)) // and not the line around it
	all.texts.Put(hash, text, len(text), mostTexts)
	return text
}

// findMessages returns the messages of hashes, nil for one that the file does not have. It looks for a message of the
// conversation from the answer back: the nearest one is meant.
func (all *requests) findMessages(in engine.In, hashes []string, s *chat.Session, e *chat.Entry) (list [][]byte, err error) {
	missing := map[string]bool{}
	list = make([][]byte, len(hashes))
	lookUp := func(i int) (err error) {
		if list[i], err = all.textOf(in, all.blobs, hashes[i], `"message"`); list[i] == nil && err == nil {
			err = all.readSpelled(in, hashes[i], &list[i])
		}
		return err
	}
	for i, hash := range hashes {
		if err := lookUp(i); err != nil {
			return nil, err
		}
		if list[i] == nil {
			missing[hash] = true
		}
	}
	for at := s.At(e.ID); at >= 0 && len(missing) > 0; at-- {
		of := &s.Entries[at]
		if of.Said.Role != chat.Assistant && of.Said.Role != chat.User && of.Said.Role != chat.Tool || len(of.Records) == 0 {
			continue
		}
		place := recordPlace{of.File, of.Records[0].At}
		if all.seen[place] {
			continue
		}
		all.seen[place] = true
		records := &spelling{of.File, of.Records}
		if err := all.spellMessages(in, records, func(hash string) {
			if all.spelled[hash] == nil {
				all.spelled[hash] = records
			}
			delete(missing, hash)
		}); err != nil {
			return nil, err
		}
	}
	for i := range list {
		if list[i] == nil {
			if err := lookUp(i); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// spellMessages holds the messages of records, and calls do with the hash of each.
func (all *requests) spellMessages(in engine.In, of *spelling, do func(hash string)) error {
	values, err := chat.Values(in.Tree, of.file, of.records)
	if err != nil {
		return err
	}
	for _, message := range spellings(values) {
		t, err := jsontape.Parse(message)
		if err != nil {
			continue
		}
		if text, err := t.AppendCanonical(nil, 0, isCacheControl); err == nil {
			hash := model.SnapshotID(text)
			if bytes.Contains(message, []byte(request.CacheControl)) {
				message = text
			}
			all.holdText(hash, message)
			do(hash)
		}
	}
	return nil
}

// readSpelled reads a message that a record of the conversation has, as far as one was found to have it.
func (all *requests) readSpelled(in engine.In, hash string, message *[]byte) error {
	of := all.spelled[hash]
	if of == nil {
		return nil
	}
	var held bool
	if *message, held = all.texts.Get(hash, mostTexts); held {
		return nil
	}
	err := all.spellMessages(in, of, func(string) {})
	*message, _ = all.texts.Get(hash, mostTexts)
	return err
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

// putCacheControl puts a mark of a cache into a member of a request, or into a message. One that has no such place stays
// as it is.
func putCacheControl(members []jsontape.Member, messages [][]byte, mark chat.Value) {
	path := slices.Collect(mark.Get("path").Each())
	if len(path) == 0 {
		return
	}
	var into *[]byte
	if key := path[0].Text(); key == "messages" && len(path) > 1 {
		if i := int(min(max(path[1].Number(), 0), 1e6)); i < len(messages) {
			into, path = &messages[i], path[1:]
		}
	} else if i := slices.IndexFunc(members, func(m jsontape.Member) bool { return jsontape.Unquote(m.Key) == key }); i >= 0 {
		into = &members[i].Value
	}
	if into == nil {
		return
	}
	t, err := jsontape.Parse(*into)
	if err != nil {
		return
	}
	n := jsontape.Node(0)
	for _, step := range path[1:] {
		if step.Kind() == jsontape.Number {
			n = t.At(n, int(step.Number()))
		} else {
			n = t.Find(n, step.Text())
		}
		if n < 0 {
			return
		}
	}
	p := jsontape.NewPatch(t)
	p.Put(n, request.CacheControl, mark.Get("value").Raw())
	*into = jsontape.Compact(p.Bytes())
}
