module hindcast

go 1.26
