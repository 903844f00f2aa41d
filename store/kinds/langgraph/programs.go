package langgraph

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/engine/chat"
	"hindcast/store/engine/rows"
	"hindcast/store/media/files"
)

// program is a program for people that keeps its threads with SqliteSaver. It goes on from the head alone, by a
// command.
type program struct {
	name, framework string
	// places are where it keeps them, below the folder of the user.
	places []string
	// mark is the condition that a database is its own.
	mark string
	// names is a table with a name for each thread, in the columns thread_id and name. It may not be there.
	names string
	// folder is the member of a checkpoint's metadata that has the folder of the thread.
	folder string
	// resume is the command that goes on with a thread, which is its last word.
	resume []string
}

// deepAgents is Deep Agents Code: see deepagents_code/sessions.py and state_migration.py 0.1.88.
var deepAgents = program{
	name: "deepagents", framework: "Deep Agents Code",
	places: []string{".deepagents/.state/sessions.db", ".deepagents/sessions.db"},
	mark: `EXISTS (SELECT 1 FROM sqlite_schema WHERE name LIKE 'dcode~_%' ESCAPE '~' OR name LIKE 'idx~_dcode~_%' ESCAPE '~')
		OR EXISTS (SELECT 1 FROM pragma_database_list WHERE name = 'main' AND replace(file, '\', '/') LIKE '%/.deepagents/%')`,
	names:  "dcode_thread_names",
	folder: "cwd",
	resume: []string{"dcode", "-r"},
}

// DeepAgents describes the threads of Deep Agents Code, which are LangGraph's checkpoints in a SQLite file. data is as
// for [Kind].
func DeepAgents(cache *files.Cache, data string) engine.Kind {
	p, k := &deepAgents, kind
	k.Name, k.Framework, k.Mark, k.Places = p.name, p.framework, "SELECT "+p.mark, p.listPlaces
	k.Format, k.Cache = inFile{format{inSQLite{}, p}}, cache
	return k.Kind(nil, data)
}

// listPlaces returns where the program keeps its threads.
func (p *program) listPlaces(around store.Surroundings) (list []string) {
	for _, place := range p.places {
		if around.Home != "" {
			list = append(list, filepath.Join(around.Home, filepath.FromSlash(place)))
		}
	}
	return list
}

// resumeCalls returns how a program goes on with a thread. It goes on from the head: from another checkpoint only once
// that is restored.
func (p *program) resumeCalls(thread, then string, head bool) []model.Resume {
	if !head {
		then = "goes on from the head: restore this checkpoint before"
	}
	return []model.Resume{{Call: chat.Command("", append(slices.Clone(p.resume), thread)...), Then: then}}
}

// Both are answered by the index of the primary key alone, without a page of the states.
const (
	// firstOnes are the first checkpoints of the newest threads.
	firstOnes = `(SELECT thread_id, min(checkpoint_id) AS first FROM checkpoints WHERE checkpoint_ns = ''
		GROUP BY thread_id ORDER BY max(checkpoint_id) DESC LIMIT ` + mostTitled + `)`
	newestOnes = "SELECT thread_id, checkpoint_ns, max(checkpoint_id) AS newest FROM checkpoints GROUP BY thread_id, checkpoint_ns"
)

// inFile is the format of a file.
type inFile struct{ format }

// List implements rows.Lister. Of the threads of a program, which may have gigabytes of states, it reads indexes,
// and what a thread began with where that is small. See listThreads for another database.
func (f inFile) List(ctx context.Context, t rows.Tx) (list []rows.Listed, err error) {
	p := f.program
	if p == nil {
		return listThreads(ctx, t)
	}
	named, err := p.threadTitles(ctx, t)
	if err != nil {
		return nil, err
	}
	folders := map[string]string{}
	err = t.Each(ctx, func(scan func(...any) error) error {
		var thread, folder string
		err := scan(&thread, &folder)
		folders[thread] = folder
		return err
	}, "SELECT s.thread_id, CAST(ifnull(json_extract(CAST(c.metadata AS TEXT), ?), '') AS TEXT) FROM "+firstOnes+` s JOIN checkpoints c ON c.thread_id = s.thread_id
		AND c.checkpoint_ns = '' AND c.checkpoint_id = s.first WHERE length(c.checkpoint) <= 65536 AND json_valid(CAST(c.metadata AS TEXT))`, "$."+p.folder)
	if err != nil {
		return nil, err
	}
	list = []rows.Listed{}
	err = t.Each(ctx, func(scan func(...any) error) error {
		one := rows.Listed{Key: make([]string, 2), Info: model.SessionInfo{Snapshots: -1}}
		head := &one.Info.Head
		var step *int
		if err := scan(&one.Key[0], &one.Key[1], &head.ID, &step); err != nil {
			return err
		}
		if step == nil {
			step = new(int)
			*step = stepOf(head.ID)
		}
		one.Info.UpdatedAt, head.Index, one.Info.Project = model.TimeOfUUID(head.ID), max(*step+1, 0), folders[one.Key[0]]
		if one.Key[1] == "" {
			one.Info.Title = named[one.Key[0]]
		}
		list = append(list, one)
		return nil
	}, `SELECT n.thread_id, n.checkpoint_ns, n.newest, iif(length(c.checkpoint) <= 65536, iif(json_valid(CAST(c.metadata AS TEXT)), CAST(json_extract(CAST(c.metadata AS TEXT), '$.step') AS INTEGER), NULL), NULL)
		FROM (`+newestOnes+`) n JOIN checkpoints c ON c.thread_id = n.thread_id AND c.checkpoint_ns = n.checkpoint_ns AND c.checkpoint_id = n.newest`)
	return list, err
}

// threadTitles returns the names of threads, or what they began with.
func (p *program) threadTitles(ctx context.Context, t rows.Tx) (titles map[string]string, err error) {
	began, titles := map[string]*step{}, map[string]string{}
	err = t.Each(ctx, func(scan func(...any) error) error {
		var thread, channel, encoding string
		var value []byte
		err := scan(&thread, &channel, &encoding, &value)
		if began[thread] == nil {
			began[thread] = &step{}
		}
		written, _ := decodeValue(encoding, value) // a value that is damaged is as none
		began[thread].addWrite("", "", 0, channel, written)
		return err
	}, "SELECT w.thread_id, w.channel, ifnull(w.type, ''), w.value FROM "+firstOnes+` s JOIN writes w ON w.thread_id = s.thread_id AND w.checkpoint_ns = '' AND w.checkpoint_id = s.first
		WHERE w.idx >= 0 AND length(w.value) <= 65536 ORDER BY w.thread_id, w.task_id, w.idx`)
	for thread, first := range began {
		titles[thread] = first.said.Opening()
	}
	columns, failed := t.Columns(ctx, p.names)
	if err != nil || failed != nil || !columns["thread_id"] || !columns["name"] {
		return titles, err
	}
	return titles, t.Each(ctx, func(scan func(...any) error) error {
		var thread, name string
		err := scan(&thread, &name)
		if name != "" {
			titles[thread] = name
		}
		return err
	}, "SELECT CAST(thread_id AS TEXT), CAST(ifnull(name, '') AS TEXT) FROM "+p.names)
}

// stepOf returns the step number in a checkpoint's id, which LangGraph writes there, or -1. A checkpoint of
// update_state has the number of the step before.
func stepOf(id string) int {
	if len(id) != 36 {
		return -1
	}
	step, err := strconv.ParseUint(id[19:23], 16, 16)
	if err != nil || step&0x3fff == 0x3fff {
		return -1
	}
	return int(step & 0x3fff)
}
