module hindcast/diff/peers

go 1.26.0

require (
	github.com/josephburnett/jd/v2 v2.5.0
	github.com/sergi/go-diff v1.4.0
	github.com/wI2L/jsondiff v0.7.1
	hindcast v0.0.0
)

require (
	github.com/tidwall/gjson v1.18.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	go.yaml.in/yaml/v3 v3.0.4 // indirect
)

replace hindcast => ../..
