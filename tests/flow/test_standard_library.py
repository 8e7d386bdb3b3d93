"""The standard library's own Python, translated: calls give what the plain modules give, and the modules' published tests pass."""

import random
import sys

import pytest

from flow.running import ADDRESS, exception, frozen
from flow.standard_library import fresh_module, published_tests, translated_module
from tapediff.flow.translate import translated

R = random.Random(1)
NUMBERS = [R.randrange(100) for _ in range(40)]
FLOATS = [R.gauss(3, 2) for _ in range(25)]
TEXT = "The quick brown fox -- it's 3.5 feet tall -- jumped over   the lazy dog.\n\tThen it slept, twice-removed, for\u2014ever.\n\n  A second paragraph."
JSON = '{"a": [1, -2.5e3, true, null, "x\\n\\u00e9\\ud83d\\ude00"], "b": {"c": {}}, "d": [], "e": 12345678901234567890, "f": -0.0, "g": Infinity}'
LINES = ["one\n", "two\n", "three\n", "four\n", "five\n"], ["one\n", "2\n", "three\n", "four and\n", "5\n", "six\n"]

# Expressions of a module m. An exception is a result too.
CALLS = {
    "heapq": [
        "[m.heapify(x := list(NUMBERS)), x]", "[m.heappush(x := [], k) or list(x) for k in NUMBERS[:7]]", "(lambda h: (m.heapify(h), [m.heappop(h) for _ in NUMBERS]))(list(NUMBERS))", "m.nsmallest(5, NUMBERS, key=lambda v: -v)",
        "m.nlargest(3, NUMBERS)", "m.nlargest(1, [])", "m.nsmallest(50, NUMBERS)", "list(m.merge([1, 4, 7], [2, 5], [], [3], key=lambda v: v))", "list(m.merge([3, 1], [2], reverse=True))", "m.heappop([])", "m.heappushpop([2, 3], 1)", "m.heapreplace([1, 5, 3], 9)", "m.heapify([1, 'a'])", "m._heapify_max(x := list(range(9))) or x",
    ],
    "bisect": ["[m.bisect_left(sorted(NUMBERS), k) for k in range(0, 100, 9)]", "[m.bisect(sorted(NUMBERS), k, 3, 20) for k in range(0, 100, 9)]", "m.insort(x := [1, 3, 5], 4) or x", "m.insort_left(x := ['bb', 'a'], 'ccc', key=len) or x", "m.bisect([1], 2, -1)", "m.bisect([1, 2], 'a')", "m.bisect_right([(1, 'a'), (2, 'b')], 1, key=lambda p: p[0])"],
    "statistics": [
        "m.mean(FLOATS)", "m.fmean(NUMBERS)", "m.median(NUMBERS)", "m.median_low(NUMBERS)", "m.median_high(NUMBERS)", "m.median_grouped(NUMBERS, 2)", "m.mode('abca')", "m.multimode('aabbc')", "m.quantiles(FLOATS, n=4)", "m.quantiles(FLOATS, n=10, method='inclusive')", "m.variance(NUMBERS)", "m.pvariance(FLOATS)",
        "m.stdev(NUMBERS)", "m.pstdev(NUMBERS)", "m.geometric_mean([1, 2, 3])", "m.harmonic_mean([40, 60], weights=[5, 30])", "m.covariance(FLOATS[:10], FLOATS[10:20])", "m.correlation(FLOATS[:10], FLOATS[10:20])", "m.linear_regression([1, 2, 3], [2, 4, 7])", "m.mean([])", "m.mode([])", "m.mean([1, '2'])",
        "m.mean([m.Fraction(1, 3), m.Fraction(1, 2)])", "m.NormalDist(1, 2) + m.NormalDist(0, 1)", "m.NormalDist(1, 2).cdf(2.5)", "m.NormalDist(1, 2).inv_cdf(0.3)", "m.NormalDist(1, 2).overlap(m.NormalDist(0, 1))", "m.NormalDist(0, -1)", "m.NormalDist.from_samples(FLOATS).quantiles(5)", "m.mean([1e308, 1e308, float('nan')])", "m.variance([1])",
    ],
    "fractions": [
        "m.Fraction(3, -6)", "m.Fraction('3.14e-2')", "m.Fraction(' -7/21 ')", "m.Fraction(0.1).limit_denominator(100)", "m.Fraction(1, 3) + 2", "1 - m.Fraction(1, 3)", "m.Fraction(1, 3) * 0.5", "m.Fraction(2, 3) ** -2", "m.Fraction(7, 3) // m.Fraction(1, 2)", "m.Fraction(-7, 3) % 2", "divmod(m.Fraction(7, 3), 2)", "round(m.Fraction(7, 2))", "round(m.Fraction(22, 7), 2)",
        "m.Fraction(1, 3) < 0.34", "m.Fraction(1, 2) == 0.5", "hash(m.Fraction(1, 2)) == hash(0.5)", "m.Fraction(1, 0)", "m.Fraction('1/0')", "m.Fraction('x')", "m.Fraction(1.5, 2)", "float(m.Fraction(1, 3))", "str(m.Fraction(4, 2))", "repr(m.Fraction(1, 3))", "sum(m.Fraction(1, k) for k in range(1, 12))", "sorted([m.Fraction(1, 2), 0.3, 1, m.Fraction(1, 3)])", "m.Fraction(2) ** m.Fraction(1, 2)", "m.Fraction(1, 3) + 'a'", "m.Fraction(1, 3) + 1j", "-abs(m.Fraction(-1, 3))", "m.math.floor(m.Fraction(-1, 3))", "0 ** m.Fraction(2)", "m.Fraction(-8) ** m.Fraction(1, 3)",
    ],
    "textwrap": ["m.wrap(TEXT, 20)", "m.fill(TEXT, 30, initial_indent='* ', subsequent_indent='  ')", "m.wrap(TEXT, 12, break_long_words=False, break_on_hyphens=False, drop_whitespace=False)", "m.shorten(TEXT, 40)", "m.shorten('hello', 2)", "m.dedent('   a\\n     b\\n\\n   c')", "m.indent(TEXT, '> ', lambda line: 'a' in line)", "m.wrap(TEXT, 0)", "m.wrap(TEXT, 25, max_lines=2, placeholder='~')", "m.TextWrapper(width=15, fix_sentence_endings=True, expand_tabs=False, tabsize=4).wrap(TEXT)", "m.wrap('', 5)"],
    "colorsys": ["[f(*c) for f in (m.rgb_to_hls, m.hls_to_rgb, m.rgb_to_hsv, m.hsv_to_rgb, m.rgb_to_yiq, m.yiq_to_rgb) for c in ((0.1, 0.5, 0.9), (0, 0, 0), (1.0, 0.2, 0.2), (0.3, 0.9, 0.3), (0.7, 0.4, 0.4))]", "m.rgb_to_hls('a', 1, 2)"],
    "difflib": ["list(m.unified_diff(*LINES, 'a', 'b', n=1))", "list(m.ndiff(*LINES))", "list(m.context_diff(*LINES))", "m.SequenceMatcher(None, 'abxcd', 'abcd').get_opcodes()", "m.SequenceMatcher(lambda c: c == ' ', ' abcd', 'abcd abcd').find_longest_match(0, 5, 0, 9)", "m.get_close_matches('appel', ['ape', 'apple', 'peach', 'puppy'])", "m.SequenceMatcher(None, TEXT, TEXT[::-1]).ratio()", "list(m.restore(m.ndiff(*LINES), 2))", "m.get_close_matches('a', [], n=0)", "len(m.HtmlDiff().make_table(*LINES))"],
    "json": [
        "m.loads(JSON)", "m.dumps(m.loads(JSON), indent=1, sort_keys=True)", "m.dumps({'é': [1, None, {'x': (1.5,)}], 2: True, None: 'a\"b\\n'}, separators=(',', ':'))", "m.dumps('é\\U0001f600', ensure_ascii=False)", "m.loads('[1, 2')", "m.loads('{\"a\" 1}')", "m.loads('')", "m.loads('[1] 2')", "m.loads('\"\\\\x\"')", "m.loads('[NaN]', parse_constant=lambda c: 'constant ' + c)",
        "m.loads('[1.5, 2]', parse_float=str, parse_int=lambda s: int(s) * 2)", "m.loads('{\"a\": {\"b\": 1}}', object_pairs_hook=lambda pairs: pairs)", "m.loads('{\"a\": 1}', object_hook=lambda d: list(d.items()))", "m.dumps({1, 2})", "m.dumps({(1, 2): 3})", "m.dumps({(1, 2): 3, 'a': 1}, skipkeys=True)", "m.dumps(float('nan'), allow_nan=False)", "m.dumps(object, default=lambda o: o.__name__)",
        "(lambda x: (x.append(x), m.dumps(x)))([])", "m.dumps(type('I', (int,), {})(3))", "list(m.JSONEncoder(indent='--').iterencode({'a': [[], {}, [1]]}))", "m.JSONDecoder(strict=False).decode('\"a\\tb\"')", "m.JSONDecoder().raw_decode(' [1]x', 1)", "m.loads('\"a\\tb\"')", "m.loads(b'\\xff\\xfe[\\x001\\x00]\\x00')", "m.loads(3)", "m.scanner.py_make_scanner(m.JSONDecoder())('[1, {}]', 0)",
    ],
    "string": ["m.Formatter().format('{0:>5}|{a.real}|{b[k]!r:^8}|{0:{1}}', 3, 6, a=2, b={'k': 'v'})", "m.Formatter().format('{}{}', 1)", "m.Formatter().format('{0}{}', 1)", "m.Formatter().format('{x}')", "m.Formatter().format('{:{:{}}}', 1, 2, 3)", "m.Template('$a ${b}c $$').substitute(a=1, b=2)", "m.Template('$a $').substitute(a=1)", "m.Template('$a $b').safe_substitute(b=3)", "m.Template('$x').substitute()", "m.capwords(' some  words here ')", "m.capwords('a-b', '-')", "m.Template('${a} $b').get_identifiers()" if sys.version_info >= (3, 11) else "0", "m.Formatter().format('{0!x}', 1)"],
    "random": [
        "m.Random(5).random()", "m.Random(5).sample(range(30), 6)", "m.Random(5).sample('abc', 2, counts=[3, 1, 1])", "m.Random(5).shuffle(x := list(range(9))) or x", "m.Random(5).choices('abc', [1, 2, 3], k=5)", "m.Random(5).choices('abc', cum_weights=[1, 2], k=5)", "[m.Random(5).gauss(0, 1), m.Random(6).normalvariate(1, 2), m.Random(7).gammavariate(0.5, 2), m.Random(7).gammavariate(2.5, 1)]",
        "[m.Random(k).betavariate(2, 3) for k in range(3)]", "[m.Random(k).vonmisesvariate(1, 4) for k in range(3)]", "[m.Random(k).triangular(0, 3, 1) for k in range(3)]", "[m.Random(k).expovariate(2) + m.Random(k).paretovariate(3) + m.Random(k).weibullvariate(1, 2) + m.Random(k).lognormvariate(0, 1) for k in range(3)]", "m.Random(5).randrange(3, 30, 4)", "m.Random(5).randint(2, 1)", "m.Random(5).choice([])", "m.Random(5).randbytes(4)",
        "m.Random('text').random()", "m.Random(b'bytes').getstate()[1][:3]", "(lambda r: (r.setstate(r.getstate()), r.random()))(m.Random(3))", "m.Random(5).sample(3, 2)", "m.Random([])",
    ],
    "shlex": ["m.split('a \"b c\" d\\\\ e \\'f\\' # no', comments=True)", "m.split('a \"b')", "m.quote(\"it's\")", "m.join(['a b', 'c'])", "list(m.shlex('a && b || c; d >e', punctuation_chars=True))", "list(m.shlex('x=1 # c\\ny', posix=True))", "m.split('')", "m.quote('')"],
    "html": ["m.escape('<a href=\"x\">&\\'')", "m.unescape('&lt;&#62;&#x3e;&amp;amp;&notit;&copy &nothing; &#0; &#x110000;')"],
    "html.parser": ["(lambda p: (p.feed('<p class=\"a\" b>x &amp; y<br/></p><!-- c --><script>1<2</script>'), p.close(), p.getpos(), p.rawdata))(m.HTMLParser())", "(lambda seen: (type('P', (m.HTMLParser,), {'handle_starttag': lambda s, *a: seen.append(a), 'handle_data': lambda s, d: seen.append(d)})().feed('<a b=c>d<e f>'), seen))([])"],
    "fnmatch": ["[m.fnmatch(n, p) for n in ('a.py', 'b.txt', '[x]', '') for p in ('*.py', '[ab]*', '[!a]*', '*', '?', '[[]x]', '**a')]", "m.filter(['a.py', 'b.c'], '*.c')", "m.translate('a*[b-d]?[!x]')", "m.translate('[')"],
    "copy": ["m.deepcopy({'a': [1, (2, [3])], 'b': {4}})", "(lambda x: (x.append(x), m.deepcopy(x)))([1])", "m.copy([[1]])", "m.deepcopy((lambda s: [s, s])([]))", "m.deepcopy(type('C', (), {'__deepcopy__': lambda self, memo: 'own'})())", "m.copy(type('C', (), {'__copy__': lambda self: 'own'})())", "m.deepcopy(type('S', (), {'__slots__': ('a',)})())", "m.deepcopy(x for x in [])", "m.copy({1: [2]})", "m.deepcopy((1, 'a', len, None, 1.5, range(3)))"],
    "pprint": ["m.pformat({'b': list(range(30)), 'a': {'x': ('y',) * 9, 'z': TEXT}}, width=40)", "m.pformat([[[[1]]]], depth=2)", "m.pformat({'b': 1, 'a': 2}, sort_dicts=False)", "m.pformat((lambda x: (x.append(x), x)[1])([])).split('id')[0]", "m.pformat({3, 1, 2})", "m.pformat(b'x' * 90, width=30)", "m.saferepr({'a': (1,)})", "m.isreadable([object()])", "m.pformat([123456, 1.5], underscore_numbers=True)", "m.pformat(list('abc') * 9, compact=True, width=30, indent=2)", "m.PrettyPrinter(width=0)"],
    "graphlib": ["list(m.TopologicalSorter({'d': {'b', 'c'}, 'b': {'a'}, 'c': ['a']}).static_order())[::3]", "list(m.TopologicalSorter({1: [2], 2: [3], 3: [1]}).static_order())", "(lambda g: (g.add(1, 2), g.prepare(), g.get_ready(), g.is_active(), g.done(2), g.get_ready()))(m.TopologicalSorter())", "(lambda g: (g.prepare(), g.done(5)))(m.TopologicalSorter({1: []}))", "m.TopologicalSorter().get_ready()"],
    "calendar": ["m.month(2024, 2)", "m.calendar(2023, 2, 1, 6, 4)[:600]", "m.monthrange(2100, 2)", "m.monthrange(2100, 13)", "m.isleap(1900)", "m.leapdays(1900, 2001)", "m.weekday(1, 1, 1)", "m.timegm((2001, 9, 9, 1, 46, 40))", "m.HTMLCalendar(6).formatmonth(2020, 2)[:300]", "list(m.Calendar(3).itermonthdays4(2021, 2))", "m.TextCalendar(9).formatweekheader(3)", "list(m.Calendar().iterweekdays())"],
    "reprlib": ["m.repr(list(range(100)))", "m.repr({k: 'x' * 99 for k in range(9)})", "m.repr([[[[[[[[]]]]]]]])", "m.repr(10 ** 99)", "m.recursive_repr('...')(lambda self: 'a')(3)", "m.repr({1, 2})"],
    "functools": ["m.reduce(lambda a, b: a * b, [1, 2, 3], 4)", "m.reduce(lambda a, b: a, [])", "m.partial(int, base=2)('101')", "m.cmp_to_key(lambda a, b: b - a)(1) < m.cmp_to_key(lambda a, b: 0)(2)", "sorted(NUMBERS, key=m.cmp_to_key(lambda a, b: b - a))", "(lambda f: ([f(k) for k in (1, 2, 1, 3, 1, 2)], f.cache_info()))(m.lru_cache(maxsize=2)(lambda k: [k]))", "(lambda f: (f(1), f(1.0), f.cache_info()))(m.lru_cache(None, typed=True)(lambda k: [k]))", "(lambda f: (f.register(int, lambda v: 'int'), f(1), f(True), f('a')))(m.singledispatch(lambda v: 'any'))[1:]", "m.total_ordering(type('T', (), {'__init__': lambda s, k: setattr(s, 'k', k), '__lt__': lambda s, o: s.k < o.k}))(1) >= 3", "m.wraps(len)(lambda: 0).__name__"],
    "urllib.parse": ["m.urlsplit('http://u:p@host:80/a/b;c?d=e&f#g')", "m.urljoin('http://a/b/c/d?q', '../e')", "m.parse_qs('a=1&b=2&a=%C3%A9&c')", "m.quote('a b/é?')", "m.unquote('a%20b%zz')", "m.urlencode({'a': [1, 2], 'b': 'é'}, doseq=True)", "m.urlsplit('http://[::1')", "m.urlsplit('http://h:x').port", "m.urlunsplit(('', 'h', 'p', '', ''))"],
    "ipaddress": ["str(m.ip_network('10.0.0.0/29').broadcast_address)", "[str(h) for h in m.ip_network('10.0.0.0/30').hosts()]", "m.ip_address('300.1.1.1')", "str(m.ip_address('2001:db8::1').exploded)", "[str(n) for n in m.collapse_addresses([m.ip_network('10.0.0.0/25'), m.ip_network('10.0.0.128/25')])]", "m.ip_address('1.2.3.4') < m.ip_address('::1')", "m.ip_address('1.2.3.4') in m.ip_network('1.2.0.0/16')", "m.ip_network('10.0.0.1/8')", "[str(n) for n in m.summarize_address_range(m.ip_address('1.1.1.1'), m.ip_address('1.1.1.6'))]"],
    "_pydecimal": ["str(m.Decimal('1.10') + m.Decimal(2))", "str(m.Decimal(1) / 7)", "str(m.Decimal(2).sqrt())", "str(m.Decimal('1e3').normalize())", "m.Decimal('x')", "m.Decimal(1) / 0", "str(m.Decimal('2.675').quantize(m.Decimal('.01')))", "str(m.Decimal(2) ** m.Decimal('0.5'))", "str(m.Decimal('-7') // 2) + str(m.Decimal('-7') % 2)", "sorted(map(m.Decimal, ['3', '1.5', '-Infinity']))[1].as_tuple()", "str(m.Decimal(3).ln())", "format(m.Decimal('1234.5'), ',.2f')", "m.Decimal('NaN') < 1", "hash(m.Decimal('0.5')) == hash(0.5)", "m.Decimal(0.1) == 0.1", "round(m.Decimal('2.5'))", "m.Decimal('1.5').as_integer_ratio()"],
    "datetime": ["str(m.date(2024, 2, 28) + m.timedelta(days=2))", "m.date(2024, 2, 30)", "str(m.datetime(2020, 1, 2, 3, 4, 5, 6, m.timezone.utc))", "m.datetime.fromisoformat('2020-01-02T03:04:05+01:00').isoformat()", "str(m.timedelta(1, 2, 3) * 1.5)", "m.timedelta(hours=5) // m.timedelta(minutes=7)", "m.date(2021, 1, 3).isocalendar()", "m.datetime(2020, 1, 1) - m.datetime(2019, 1, 1, 1) > m.timedelta(3)", "m.date.fromordinal(737791).strftime('%Y %j')", "m.datetime(2020, 1, 1) < m.date(2020, 1, 1)", "repr(m.timedelta(-1, 5))", "m.time(25)"],
}  # fmt: skip

# The module that each published test module is of, and parts of the names of tests that take long, start processes or are of the part in C.
PUBLISHED = {
    "test_heapq": ("heapq", ["HeapC", "HandlingC", "c_functions", "merge_stability", "largest", "smallest"]),
    "test_bisect": ("bisect", ["BisectC", "InsortC", "HandlingC", "ExampleC"]),
    "test_statistics": ("statistics", ["DistC", "c_functions", "DocTests", "torture", "GeometricMean.test_basics", "inv_cdf", "overlap", "equal_sized", "SqrtHelpers", "ApproxEqual", "MedianLow", "MedianHigh", "TestPVariance", "TestStdev"]),
    "test_fractions": ("fractions", []),
    "test_textwrap": ("textwrap", []),
    "test_colorsys": ("colorsys", []),
    "test_difflib": ("difflib", ["REDOS", "html_diff", "recursion_limit"]),
    "test_string": ("string", []),
    "test_random": ("random", ["SystemRandom", "autoseed", "9025", "choices_algorithms", "avg_std", "Interactive"]),
    "test_shlex": ("shlex", []),
    "test_html": ("html", []),
    "test_htmlparser": ("html", []),
    "test_fnmatch": ("fnmatch", []),
    "test_copy": ("copy", ["weak"]),
    "test_pprint": ("pprint", ["str_wrap"]),
    "test_graphlib": ("graphlib", ["hash_seed"]),
    "test_calendar": ("calendar", ["CommandLine"]),
    "test_reprlib": ("reprlib", ["LongReprTest"]),
    "test_functools": ("functools", ["LRUC", "PartialC", "KeyC", "ReduceC", "weakref", "thread", "reentrancy_with_len", "Ordering.test_pickle", "lru_recursion", "partial_as_method"]),
    "test_contextlib": ("contextlib", ["nokeepref", "excessive", "exit_exception_explicit_none", "exit_exception_with_existing", "exit_exception_traceback"]),
    "test_urlparse": ("urllib", ["urlsplit_normalization"]),
    "test_ipaddress": ("ipaddress", ["v6"]),
    **{f"test_json.{name}": ("json", ["TestC", "highly_nested", "unicode_decode"]) for name in ("test_decode", "test_default", "test_dump", "test_encode_basestring_ascii", "test_fail", "test_float", "test_indent", "test_pass1", "test_recursion", "test_scanstring", "test_separators", "test_unicode")},
}  # fmt: skip


def value_of(expression, module):
    """The value of an expression or its exception, without addresses."""
    names = {"m": module, "NUMBERS": list(NUMBERS), "FLOATS": list(FLOATS), "TEXT": TEXT, "JSON": JSON, "LINES": LINES}
    try:
        value = eval(expression, names)
        return "value", frozen(value), ADDRESS.sub("", repr(value))
    except Exception as error:  # noqa: BLE001 - compared with what the plain module raises
        return "raised", exception(error)


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_a_translated_module_give_what_the_plain_one_gives(name):
    """Each call of the table has the same value, or the same exception."""
    plain, other = fresh_module(name), translated_module(name, translated)
    for expression in CALLS[name]:
        assert value_of(expression, other) == value_of(expression, plain), expression


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_tests_end_as_they_do_for_the_plain_module(name):
    """The interpreter's own tests of a module pass for its translation where they pass for the module."""
    pytest.importorskip(f"test.{name}")
    root, without = PUBLISHED[name]
    plain = published_tests(name, root, None, without)
    assert list(plain.values()).count("passed") >= 1
    found = published_tests(name, root, translated, without)
    assert {test: ending for test, ending in found.items() if ending != plain[test]} == {}
