"""Bodies of requests and answers, HTTP version 1. Unknown members are refused; positions start at 0."""
