package mapped_test

import (
	"errors"
	"strings"
	"testing"

	"hindcast/store/kinds/mapped"
)

func parse(t *testing.T, text string) mapped.Map {
	t.Helper()
	m, err := mapped.ParseMap(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// column reads one path out of a document, as the title of its row.
func column(t *testing.T, path, document string) string {
	t.Helper()
	rows := mustRead(t, parse(t, "title="+path), document)
	return rows[0].Header.Title
}

func TestParseMap_pathsLeadToValues(t *testing.T) {
	const document = `{"a":{"b":["x","y","z"],"x y":"blank","c,d":"comma","e=f":"equals","":"empty","~":"tilde","g/h":"slash","é":"accent","0":"nought"},
		"'":"single","\"":"double","]":"bracket","\\":"back","n":17,"d":1,"d":2,"null":null,"☺":"smile","_u1":"under",
		"list":[{"k":"a","v":"1"},{"in":"no JSON"},{"k":"b","v":"2","text":"{\"y\":\"deep\"}"},{"k":"b","v":"3"},{"k":7,"v":"seven"},{"in":"{\"x\":\"so\"}","v":"inside"}]}`
	for _, c := range []struct{ path, want string }{
		{"$.a.b[0]", "x"}, {"a.b[0]", "x"}, {"@.a.b[0]", "x"}, {"/a/b/0", "x"}, {"$['a']['b'][0]", "x"}, {`$["a"].b[2]`, "z"},
		{"a.b[-1]", "z"}, {"a.b[ 1 ]", "y"}, {"a [ 'b' ] [1]", "y"}, {" $ .a .b[0] ", "x"},
		{"a['x y']", "blank"}, {"a['c,d']", "comma"}, {`a["e=f"]`, "equals"}, {"a['']", "empty"}, {"/a/", "empty"},
		{"/a/~0", "tilde"}, {"/a/g~1h", "slash"}, {"a.é", "accent"}, {"/a/0", "nought"}, {"['a']['0']", "nought"},
		{`['\'']`, "single"}, {`["'"]`, "single"}, {`['"']`, "double"}, {`["\""]`, "double"}, {"[']']", "bracket"}, {`['\\']`, "back"},
		{`['\u263a']`, "smile"}, {`['☺']`, "smile"}, {"☺", "smile"}, {`['\ud83d\ude00']`, ""}, {"_u1", "under"},
		{"list[?@.k=='b'].v", "2"}, {`list[?@.k == "b"].v`, "2"}, {"list[?@.k!='a'].in", "no JSON"}, {"list[?@.k=='c'].v", ""}, {"list[?@.k==7].v", "seven"}, {"list[?@.k=='7'].v", ""},
		{"list[?@.in|fromjson.x=='so'].v", "inside"}, {"n[?@.k=='b']", ""}, {"list[?@.k=='b'].text|fromjson.y", "deep"}, {"a.b[?@=='y']", "y"},
		{"n", "17"}, {"d", "2"}, {"null", ""}, {"a.b[3]", ""}, {"a.b[-4]", ""}, {"/a/b/-1", ""}, {"/a/b/00", ""}, {"a[0]", ""}, {"n.x", ""}, {"missing.x[0]", ""},
		{"'text'", "text"}, {`"it's, = 'so'"`, "it's, = 'so'"}, {`'it\'s'`, "it's"},
	} {
		if got := column(t, c.path, document); got != c.want {
			t.Errorf("%s leads to %q, want %q", c.path, got, c.want)
		}
	}
}

func TestParseMap_saysWhatIsWrongAndWhere(t *testing.T) {
	for _, c := range []struct {
		text, part, problem string
		column              int
	}{
		{"nonsense", "nonsense", "KEY=PATH was expected", 1},
		{"id=a,who=b", "who=b", "KEY is one of id, parent, state", 6},
		{"id=a,", "", "KEY=PATH", 6},
		{",id=a", "", "KEY=PATH", 1},
		{"id", "id", "KEY=PATH", 1},
		{"id=", "id=", "there is no path", 4},
		{"id=,parent=b", "id=", "there is no path", 4},
		{"id=a,id=b", "id=b", "id is there twice", 6},
		{"rows=$[*],rows=$[*]", "rows=$[*]", "rows is there twice", 11},
		{"parent=a..b", "parent=a..b", "one path leads to one value", 10},
		{"parent=a.", "parent=a.", "a name was expected", 10},
		{"id=a,parent=a-b", "parent=a-b", "['so']", 14},
		{"parent=0a", "parent=0a", "a name was expected", 8},
		{"id=a[b]", "id=a[b]", "a position, such as [0]", 6},
		{"id=a[01]", "id=a[01]", "no position", 6},
		{"id=a[-0]", "id=a[-0]", "no position", 6},
		{"id=a[9007199254740992]", "id=a[9007199254740992]", "no position", 6},
		{"id=a[1", "id=a[1", "a ] was expected", 7},
		{"id=a['x", "id=a['x", "not closed", 6},
		{`id=a['\x']`, `id=a['\x']`, "escape", 6},
		{`id=a['\ud83d']`, `id=a['\ud83d']`, "escape", 6},
		{"id=a[0:2]", "id=a[0:2]", "a ] was expected", 7},
		{"id=a[b]", "id=a[b]", "a filter", 6},
		{"id=a[?@.b]", "id=a[?@.b]", "== or !=", 10},
		{"id=a[?@.b==1", "id=a[?@.b==1", "a ] was expected", 13},
		{"id=a[?b=='x']", "id=a[?b=='x']", "a filter begins with @", 7},
		{"id=a[?@[*]=='x']", "id=a[?@[*]=='x']", "a filter begins with @", 7},
		{"id=a[?]", "id=a[?]", "a name was expected", 7},
		{"messages=all", "messages=all", "append", 10},
		{"messages=append,messages=append", "messages=append", "messages is there twice", 17},
		{"id=/a~2b", "id=/a~2b", "~0", 6},
		{"id='x'", "id='x'", "here a path was expected", 4},
		{"session=''", "session=''", "empty", 9},
		{"id=$.a[*]", "id=$.a[*]", "leads to many values", 4},
		{"rows=$.a", "rows=$.a", "[*]", 6},
		{"rows='a'", "rows='a'", "here a path was expected", 6},
		{"state=é é", "state=é é", "a comma or the end", 9},
	} {
		_, err := mapped.ParseMap(c.text)
		wrong, ok := errors.AsType[*mapped.MapError](err)
		if !ok {
			t.Errorf("%s: %v, which is no MapError", c.text, err)
			continue
		}
		if wrong.Part != c.part || wrong.Column != c.column || !strings.Contains(wrong.Problem, c.problem) {
			t.Errorf("%s: %v\nwant %q in column %d of %q", c.text, err, c.problem, c.column, c.part)
		}
		if _, err := mapped.ParseMap(strings.Split(wrong.Example, " or ")[0]); err != nil {
			t.Errorf("%s: the example does not parse: %v", c.text, err)
		}
	}
}
