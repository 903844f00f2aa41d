package redact

import (
	"strings"
	"sync"
)

// shape is a kind of secret that a prefix tells: what follows it are letters, digits, _ and -.
type shape struct {
	kind, prefix string
	// least is the least length of the secret behind the prefix.
	least int
	// more are other characters that may follow.
	more string
	// drawn means that words may have the prefix too, so that what follows must look drawn.
	drawn bool
}

// shapes are prefixes of keys as their vendors give them out, the rarer before the shorter.
var shapes = []struct {
	kind     string
	least    int
	more     string
	drawn    bool
	prefixes string
}{
	{"private-key", 20, "", false, "AGE-SECRET-KEY-1"},
	{"github-token", 20, "", false, "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_"},
	{"gitlab-token", 16, ".", false,
		"glpat- gldt- glrt- glptt- glcbt- glsoat- glft- glffct- glimt- glagent- gloas- glwt- GR1348941"},
	{"slack-token", 10, ".%", false, "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe. xapp-"},
	{"google-key", 30, "", false, "AIza"},
	{"google-key", 16, ".", false, "ya29. GOCSPX- 1//0 AQ.Ab8R"},
	{"api-key", 16, ".", false, `sk-ant- sk-proj- sk-svcacct- sk-admin- sk-or- sk-lf- pk-lf- sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_
		whsec_ npm_ pypi- hf_ api_org_ gsk_ xai- csk- hvs. hvb. hvr. dop_v1_ doo_v1_ dor_v1_ shpat_ shpca_
		shppa_ shpss_ shptka_ SG. lin_api_ lin_oauth_ pplx- r8_ tvly- PMAK- dckr_pat_ dckr_oat_ sntrys_ sntryu_ sntrya_ glsa_ NRAK- NRII-
		NRJS- NRRA- NRIQ- ntn_ figd_ sbp_ sb_secret_ vercel_ vcp_ rubygems_ CLOJARS_ e2b_ bkua_ bkct_ nvapi- lsv2_pt_ lsv2_sk_
		jina_ pcsk_ phc_ phx_ rnd_ nfp_ mdb_sa_sk_ ATATT3 ATCTT3 ATBB BBDC- access-sandbox- access-development-
		access-production- pat-na1- pat-eu1- CFPAT- tskey-auth- tskey-api- tskey-client- tskey- apify_api_ ddp_ ddo_ pscale_tkn_
		pscale_oauth_ pscale_pw_ rdme_ shippo_live_ shippo_test_ sgp_ squ_ sqp_ sqa_ sq0atp- sq0csp- tfp_ xkeysib- xsmtpsib-
		dp.pt. dp.st. dp.ct. dp.sa. duffel_test_ duffel_live_ dt0c01. dt0s01. FLWSECK_TEST- FLWSECK- FLWPUBK_TEST- fio-u- HRKU- sm_aat_
		sm_pat_ sm_sat_ p8e- pnu_ tk-us- amzn.mws. EZAK EZTK dnkey- AKCp LTAI sk-or-v1- tgp_v1_ esecret_ secret_live_
		secret_test_ zpka_ cal_live_ sk-helicone- cfut_ cfat_ flyv1_ ghs_ PRVTKN- mmk_ BSA- key-live- waka_ xaat- xapt- APP_USR- mlsn.`},
	{"api-key", 20, "+/=.", false, "IQoJb3JpZ2lu FwoGZXIvYXdz glc_ fo1_ fm1a_ fm1r_ fm2_ ABSK ops_eyJ bedrock-api-key- AAAAAAAAAAAAAAAAAAAAA% AAAAAAAAAAAAAAAAAAAAAA"},
	{"api-key", 16, ".", true, `sk- sk_ pk- pk_ rk- rk_ sk. pk. fw_ as- ak- ak_ rpa_ sdk- mob- rel- re_ key- api- api_ pat_ pat- pat. sat. t1. s. b_
		live_ test_ secret_ sess- EAA IGQV AQVN YC sl. ctx7sk- fc- pul- ico- pa- tk_ o. API- pat dapi dkea dose oy2 4b1d SCW st. xau_ v1.0- sha256~ A3- luma- wk-1.`},
}

// prefixTable has the shapes by the first letter of their prefix.
type prefixTable struct {
	shapes [128][]shape
	// begins tells which two letters begin a prefix.
	begins [128][128]bool
}

// shapesBy returns the table of the shapes.
var shapesBy = sync.OnceValue(func() *prefixTable {
	by := new(prefixTable)
	for _, group := range shapes {
		for _, prefix := range strings.Fields(group.prefixes) {
			by.shapes[prefix[0]] = append(by.shapes[prefix[0]], shape{group.kind, prefix, group.least, group.more, group.drawn})
			by.begins[prefix[0]][prefix[1]] = true
		}
	}
	return by
})

// appendShaped appends the secrets of a text that their prefix tells.
func appendShaped(spans []span, text string) []span {
	by := shapesBy()
	for i := 0; i+1 < len(text); i++ {
		c, next := text[i], text[i+1]
		if c >= 128 || next >= 128 || !by.begins[c][next] || i > 0 && isWordByte(text[i-1]) && !isEscapeLetter(text, i-1) {
			continue
		}
		for _, s := range by.shapes[c] {
			if !strings.HasPrefix(text[i:], s.prefix) {
				continue
			}
			if beginsPublic(text[i:]) {
				break
			}
			from := i + len(s.prefix)
			to := s.end(text, from, mostJudged)
			rest := strings.TrimRight(text[from:to], ".%") // a sentence may end here
			if len(rest) < s.least || isPlaceholder(rest) || s.drawn && (!isDrawn(rest) && !uuid().MatchString(rest) || isInBlob(text, i)) {
				continue
			}
			if len(rest) == mostJudged {
				rest = text[from:s.end(text, to, len(text))]
			}
			spans = append(spans, span{i, from + len(rest), s.kind, true})
			i = from + len(rest) - 1
			break
		}
	}
	return spans
}

// isInBlob reports whether a prefix that words may have stands in a long run of base64url, by chance.
func isInBlob(text string, i int) bool {
	from := i
	for from > 0 && i-from < leastBlob && (isWordByte(text[from-1]) || text[from-1] == '-') {
		from--
	}
	return i-from == leastBlob && isRandom(text[from:i])
}

const leastBlob = 40

// mostJudged is how much of a run of letters is looked at to judge it, so that the time stays
// linear whatever follows a prefix.
const mostJudged = 512

// end returns where the run of letters that may follow the prefix ends.
func (s *shape) end(text string, from, most int) int {
	to := from
	for to < len(text) && to-from < most && (isWordByte(text[to]) || text[to] == '-' || strings.IndexByte(s.more, text[to]) >= 0) {
		to++
	}
	return to
}

// isWordByte reports whether a byte is a letter, a digit or _.
func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// isEscapeLetter reports whether the letter at i belongs to an escape such as \n.
func isEscapeLetter(text string, i int) bool {
	return i > 0 && text[i-1] == '\\' && strings.IndexByte("nrtbf", text[i]) >= 0
}
