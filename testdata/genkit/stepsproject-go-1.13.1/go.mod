module stepsproject

go 1.25
