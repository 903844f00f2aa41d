"""Writes values.tsv: a value pickled in each protocol, with the JSON that it is read as.  python make.py > values.tsv"""
import base64, collections, datetime, decimal, enum, pickle, sys, types, uuid

app = types.ModuleType("app")
sys.modules["app"] = app


def of_app(cls):
    cls.__module__, cls.__qualname__ = "app", cls.__name__
    setattr(app, cls.__name__, cls)
    return cls


@of_app
class Order:
    def __init__(self, **members): self.__dict__.update(members)


@of_app
class Slots:
    __slots__ = ("a",)
    def __init__(self): self.a = 1


@of_app
class Colour(enum.Enum):
    RED = "red"


@of_app
class Money(int):
    pass


@of_app
class Items(list):
    pass


itself = []
itself.append(itself)
shared = ["x"]
values = [
    ("none", None, "null"),
    ("bools", [True, False], "[true,false]"),
    ("ints", [0, -1, 255, 65535, -(2**31), 2**31, 2**63, -(2**200)], "[0,-1,255,65535,-2147483648,2147483648,9223372036854775808,%d]" % -(2**200)),
    ("floats", [0.5, 1.0, 1e300, float("inf"), float("nan")], '[0.5,1.0,1e+300,{"$float":"+Inf"},{"$float":"NaN"}]'),
    ("text", ["größe 🐎", "a\\u0041\n'\"", ""], '["größe 🐎","a\\\\u0041\\n\'\\"",""]'),
    ("bytes", [b"\x00\xff", b""], '[{"$bytes":"AP8="},{"$bytes":""}]'),
    ("list", [1, [2, (3,), (), (4, 5), (6, 7, 8), (1, 2, 3, 4)]], "[1,[2,[3],[],[4,5],[6,7,8],[1,2,3,4]]]"),
    ("dict", {"b": 1, "a": {1: 2, None: 3, (1, "x"): 4}}, '{"b":1,"a":{"1":2,"null":3,"[1,\\"x\\"]":4}}'),
    ("sets", [{1}, frozenset([2])], '[{"$py":"builtins.set","value":[1]},{"$py":"builtins.frozenset","value":[2]}]'),
    ("shared", [shared, shared], '[["x"],["x"]]'),
    ("itself", itself, '[{"$cycle":1}]'),
    ("class", [Order, len], '[{"$global":"app.Order"},{"$global":"builtins.len"}]'),
    ("object", Order(item="Äpfel", n=3, more=[Order()]), '{"$py":"app.Order","item":"Äpfel","n":3,"more":[{"$py":"app.Order"}]}'),
    ("object with taken members", Order(**{"$py": "os.system"}), '{"$py":"app.Order","state":{"$py":"os.system"}}'),
    ("enum", Colour.RED, '{"$py":"app.Colour","value":"red"}'),
    ("subclass of list", Items([1, 2]), '{"$py":"app.Items","value":[1,2]}'),
    ("ordered", collections.OrderedDict(b=1, a=2), '{"$py":"collections.OrderedDict","value":{"b":1,"a":2}}'),
    ("default", collections.defaultdict(list, a=[1]), '{"$py":"collections.defaultdict","value":{"$global":"builtins.list"},"items":{"a":[1]}}'),
    ("time", datetime.datetime(2026, 1, 2, 3, 4, 5, 6), '{"$py":"datetime.datetime","value":"2026-01-02T03:04:05.000006"}'),
    ("time with a zone", datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc), '{"$py":"datetime.datetime","value":"2026-01-02T00:00:00.000000+00:00"}'),
    ("time west of it", datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=-3, minutes=-30))), '{"$py":"datetime.datetime","value":"2026-01-02T00:00:00.000000-03:30"}'),
    ("time with a named zone", datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=1), "X")), '{"$py":"datetime.datetime","value":["2026-01-02T00:00:00.000000",{"$py":"datetime.timezone","value":[{"$py":"datetime.timedelta","value":[0,3600,0]},"X"]}]}'),
    ("date", datetime.date(2026, 1, 2), '{"$py":"datetime.date","value":"2026-01-02"}'),
    ("delta", datetime.timedelta(days=1), '{"$py":"datetime.timedelta","value":[1,0,0]}'),
    ("decimal", decimal.Decimal("1.50"), '{"$py":"decimal.Decimal","value":"1.50"}'),
    ("uuid", uuid.UUID(int=7), '{"$py":"uuid.UUID","int":7}'),
]
for name, value, json in values:
    for protocol in range(6):
        print(name, protocol, base64.b64encode(pickle.dumps(value, protocol)).decode(), json, sep="\t")
for protocol in range(2, 6):
    print("slots", protocol, base64.b64encode(pickle.dumps(Slots(), protocol)).decode(), '{"$py":"app.Slots","a":1}', sep="\t")
    print("subclass of int", protocol, base64.b64encode(pickle.dumps(Money(5), protocol)).decode(), '{"$py":"app.Money","value":5}', sep="\t")
print("bytearray", 5, base64.b64encode(pickle.dumps(bytearray(b"ab"), 5)).decode(), '{"$bytes":"YWI="}', sep="\t")
