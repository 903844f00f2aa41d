package markup

import "strings"

// language says how the code of a language is cut into tokens.
type language struct {
	names    string // of fences and of files, without the dot
	line     string // what begins a comment to the end of its line, one or two separated by a space
	block    string // the beginning and the end of other comments
	quotes   string // what is around strings of one line
	long     string // what is around strings of several lines, longest first
	escapes  bool   // a backslash keeps a quote from ending a string
	member   byte   // what follows the name of a member: a colon or an equal sign
	folds    bool   // keywords are written in any case
	tags     bool   // strings are in tags only, and names follow <
	lifetime bool   // a lone ' is no quote
	keywords string
}

const (
	ofScript = "async await break case catch class const continue debugger default delete do else enum export extends false finally for from function get if implements import in instanceof interface let new null of private protected public readonly return set static super switch this throw true try type typeof undefined var void while with yield"
	ofC      = "alignas alignof auto bool break case catch char class const constexpr continue default delete do double else enum explicit extern false final float for friend goto if inline int long mutable namespace new noexcept nullptr operator override private protected public register return short signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while NULL"
)

// languages are the languages whose code is shown in colours.
var languages = []language{
	{names: "go golang", line: "//", block: "/* */", quotes: `"'`, long: "`", escapes: true,
		keywords: "break case chan const continue default defer else fallthrough false for func go goto if import interface iota map nil package range return select struct switch true type var any bool byte error float64 int int64 rune string uint"},
	{names: "py python python3 pyi", line: "#", quotes: `"'`, long: `""" '''`, escapes: true,
		keywords: "and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield"},
	{names: "js javascript jsx mjs cjs ts typescript tsx mts", line: "//", block: "/* */", quotes: `"'`, long: "`", escapes: true, keywords: ofScript},
	{names: "json jsonc json5 jsonl ndjson", line: "//", quotes: `"`, escapes: true, member: ':', keywords: "true false null"},
	{names: "sh bash shell zsh console shell-session fish dockerfile make makefile", line: "#", quotes: `"'`, escapes: true,
		keywords: "alias case cd declare do done echo elif else esac eval exec exit export false fi for function if in local read readonly return set shift source test then trap true unset until while FROM RUN COPY ENV"},
	{names: "html xml svg vue xhtml htm", block: "<!-- -->", quotes: `"'`, tags: true},
	{names: "css scss less", block: "/* */", quotes: `"'`, escapes: true, member: ':',
		keywords: "important import media keyframes supports from to inherit initial none auto"},
	{names: "rs rust", line: "//", block: "/* */", quotes: `"'`, escapes: true, lifetime: true,
		keywords: "as async await bool break const continue crate dyn else enum extern f64 false fn for i32 i64 if impl in let loop match mod move mut pub ref return self Self static str String struct super trait true type u8 u32 u64 unsafe use usize where while"},
	{names: "c h cpp c++ cc hpp cxx objc", line: "//", block: "/* */", quotes: `"'`, escapes: true, keywords: ofC},
	{names: "java kotlin kt scala groovy cs csharp c# swift dart php", line: "//", block: "/* */", quotes: `"'`, escapes: true, long: `"""`,
		keywords: "abstract as assert async await boolean break byte case catch char class const continue data def default do double else enum extends extension false final finally float for fun func guard if implements import in instanceof int interface internal is let long namespace new nil null object open override package private protected public record return sealed static string struct super switch this throw throws true try typeof using val var void when where while"},
	{names: "yaml yml", line: "#", quotes: `"'`, escapes: true, member: ':', keywords: "true false null yes no on off"},
	{names: "toml ini conf cfg properties env", line: "# ;", quotes: `"'`, escapes: true, long: `""" '''`, member: '=', keywords: "true false"},
	{names: "sql sqlite postgresql postgres mysql psql", line: "--", block: "/* */", quotes: `'"`, folds: true,
		keywords: "add all alter and as asc begin between bigint boolean by case check column commit constraint create cross default delete desc distinct drop else end exists false foreign from full group having if in index inner insert int integer into is join key left like limit not null numeric offset on or order outer primary references returning right rollback select set table text then timestamp to true union unique update using values varchar view when where with"},
	{names: "rb ruby perl pl r elixir ex", line: "#", quotes: `"'`, escapes: true,
		keywords: "and begin break case class def defmodule do else elsif end ensure false fn for if in module my next nil not or private require rescue return self sub super then true unless until use when while yield"},
	{names: "lua", line: "--", block: "--[[ ]]", quotes: `"'`, escapes: true,
		keywords: "and break do else elseif end false for function goto if in local nil not or repeat return then true until while"},
}

// languageOf returns the language of a fence or of the end of a file's name.
func languageOf(name string) (language, bool) {
	for _, l := range languages {
		for n := range strings.FieldsSeq(l.names) {
			if n == name {
				return l, true
			}
		}
	}
	return language{}, false
}
