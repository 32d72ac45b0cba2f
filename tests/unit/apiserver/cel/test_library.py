"""The libraries, one table each."""

import pytest

from tests.unit.apiserver.cel.evaluation import error, value

TRUE = {
    "strings": (
        "'tacocat'.charAt(3) == 'o' && 'abc'.charAt(3) == ''",
        "'tacocat'.indexOf('c') == 2 && 'tacocat'.indexOf('c', 3) == 4",
        "'tacocat'.indexOf('x') == -1 && 'a'.indexOf('') == 0",
        "'tacocat'.lastIndexOf('a') == 5 && 'tacocat'.lastIndexOf('a', 4) == 1",
        "'AbÉ'.lowerAscii() == 'abÉ' && 'abé'.upperAscii() == 'ABé'",
        "'12 days 12 hours'.replace('{0}', '2') == '12 days 12 hours'",
        "'aaa'.replace('a', 'b', 2) == 'bba' && 'aaa'.replace('a', 'b') == 'bbb'",
        "'a b c'.split(' ') == ['a', 'b', 'c'] && 'a b c'.split(' ', 2) == ['a', 'b c']",
        "'abc'.split('') == ['a', 'b', 'c'] && 'a b'.split(' ', 0) == []",
        "'tacocat'.substring(4) == 'cat' && 'tacocat'.substring(0, 4) == 'taco'",
        "'\\t a \\u3000'.trim() == 'a'",
        "['a', 'b'].join() == 'ab' && ['a', 'b'].join('-') == 'a-b' && [].join() == ''",
        'strings.quote(\'a\\n"b"\') == \'"a\\\\n\\\\"b\\\\""\'',
    ),
    "format": (
        "'%d of %s'.format([3, 'x']) == '3 of x'",
        "'%.2f'.format([1234.567]) == '1,234.57'",
        "'%e'.format([1234.5]) == '1.234500\u00d710⁰³'",
        "'%b %x %X %o'.format([5, 255, 255, 8]) == '101 ff FF 10'",
        "'%x'.format(['ab']) == '6162' && '%b'.format([true]) == '1'",
        "'%s'.format([[1, 'a', 1.5]]) == '[1, \"a\", 1.500000]'",
        "'%s'.format([{'b': 1, 'a': duration('1s')}]) == '{\"a\":duration(\"1s\"), \"b\":1}'",
        "'100%%'.format([]) == '100%'",
        "'%s %s %s'.format([null, true, timestamp('2009-02-13T23:31:30Z')])"
        " == 'null true 2009-02-13T23:31:30Z'",
    ),
    "lists": (
        "[1, 2, 2].isSorted() && !['b', 'a'].isSorted()",
        "[1, 2].sum() == 3 && [].sum() == 0 && [duration('1s')].sum() == duration('1s')",
        "[3, 1, 2].min() == 1 && ['a', 'c'].max() == 'c'",
        "[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(3) == -1",
        "[1, 2, 3].slice(1, 3) == [2, 3]",
        "[[1], [2, 3]].flatten() == [1, 2, 3]",
        "[[[1]], [[2, 3]]].flatten(2) == [1, 2, 3]",
        "[3, 1, 2].sort() == [1, 2, 3] && [1, 2].reverse() == [2, 1]",
        "['bb', 'a'].sortBy(x, size(x)) == ['a', 'bb']",
        "[1, 2, 1].distinct() == [1, 2] && [[1], [1]].distinct() == [[1]]",
        "lists.range(3) == [0, 1, 2]",
    ),
    "regex": (
        "'abc 123'.find('[0-9]+') == '123' && 'abc'.find('[0-9]') == ''",
        "'1 22 333'.findAll('[0-9]+') == ['1', '22', '333']",
        "'1 22 333'.findAll('[0-9]+', 2) == ['1', '22'] && 'a'.findAll('b') == []",
    ),
    "url": (
        "url('https://user:pw@example.com:80/a b?x=1&x=2').getScheme() == 'https'",
        "url('https://example.com:80/').getHost() == 'example.com:80'",
        "url('https://[::1]:80/').getHostname() == '::1'",
        "url('https://example.com:80/').getPort() == '80'",
        "url('https://example.com/a%20b').getEscapedPath() == '/a%20b'",
        "url('https://example.com/?x=1&x=2&y').getQuery() == {'x': ['1', '2'], 'y': ['']}",
        "url('/path').getHost() == '' && url('/path').getEscapedPath() == '/path'",
        "isURL('https://example.com') && !isURL('example.com') && !isURL('https://a:b/')",
    ),
    "sets": (
        "sets.contains([1, 2, 3], [3, 1]) && !sets.contains([1], [1, 2])",
        "sets.equivalent([1, 2, 2], [2, 1]) && !sets.equivalent([1], [2])",
        "sets.intersects([1, 2], [2, 3]) && !sets.intersects([], [1])",
    ),
    "quantity": (
        "quantity('1Gi').isGreaterThan(quantity('1G'))",
        "quantity('50k').isLessThan(quantity('50M'))",
        "quantity('1000').compareTo(quantity('1k')) == 0 && quantity('1k') == quantity('1000')",
        "quantity('1k').add(quantity('2k')) == quantity('3k')",
        "quantity('1k').sub(1) == quantity('999') && quantity('1k').add(-1).asInteger() == 999",
        "quantity('500m').asApproximateFloat() == 0.5 && !quantity('500m').isInteger()",
        "sign(quantity('-1')) == -1 && isQuantity('1.5Gi') && !isQuantity('1 Gi')",
        "type(quantity('1')) == kubernetes.Quantity",
    ),
    "ip": (
        "isIP('127.0.0.1') && isIP('::1') && !isIP('127.0.0.1/8') && !isIP('::ffff:1.2.3.4')",
        "!isIP('127.000.0.1') && !isIP('fe80::1%en0')",
        "ip('127.0.0.1').family() == 4 && ip('::1').family() == 6",
        "ip('127.0.0.1').isLoopback() && ip('0.0.0.0').isUnspecified()",
        "ip('169.254.1.1').isLinkLocalUnicast() && ip('224.0.0.1').isLinkLocalMulticast()",
        "ip('10.0.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()",
        "ip.isCanonical('2001:db8::1') && !ip.isCanonical('2001:DB8::1')",
        "ip('::0') == ip('::') && string(ip('::0')) == '::'",
    ),
    "cidr": (
        "cidr('192.168.0.0/24').containsIP('192.168.0.1')",
        "cidr('192.168.0.0/24').containsIP(ip('192.168.0.1'))",
        "!cidr('192.168.0.0/24').containsIP('::1')",
        "cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24')",
        "!cidr('192.168.0.0/24').containsCIDR(cidr('192.168.0.0/16'))",
        "cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24')",
        "cidr('192.168.0.1/24').ip() == ip('192.168.0.1')",
        "cidr('::1/128').prefixLength() == 128 && string(cidr('10.0.0.0/8')) == '10.0.0.0/8'",
        "isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0') && !isCIDR('10.0.0.0/33')",
    ),
    "format.named": (
        "!format.dns1123Label().validate('my-label').hasValue()",
        "format.dns1123Label().validate('My-Label').hasValue()",
        "!format.dns1123LabelPrefix().validate('my-label-').hasValue()",
        "!format.dns1123Subdomain().validate('a.example.com').hasValue()",
        "format.dns1035Label().validate('1a').value()[0].startsWith('a DNS-1035 label must')",
        "!format.qualifiedName().validate('example.com/name').hasValue()",
        "!format.labelValue().validate('a_B').hasValue()",
        "format.uuid().validate('x').value() == ['does not match the UUID format']",
        "format.byte().validate('%').value() == ['invalid base64']",
        "format.date().validate('2021-13-01').value() == ['invalid date']",
        "!format.datetime().validate('2021-01-01T00:00:00Z').hasValue()",
        "format.uri().validate('x').hasValue() && !format.uri().validate('/x').hasValue()",
        "format.named('date').hasValue() && !format.named('unknown').hasValue()",
    ),
    "semver": (
        "isSemver('1.2.3-alpha.1+build') && !isSemver('v1.2.3') && !isSemver('1.2')",
        "isSemver('v1.2', true) && semver('v01.2', true) == semver('1.2.0')",
        "semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2",
        "semver('1.2.3').patch() == 3 && semver('1.0.0').isGreaterThan(semver('1.0.0-rc.1'))",
        "semver('1.0.0-rc.2').isLessThan(semver('1.0.0-rc.10'))",
        "semver('1.0.0').compareTo(semver('1.0.0+x')) == 0 && !isSemver('1.0.0-01')",
    ),
}


@pytest.mark.parametrize("text", [one for many in TRUE.values() for one in many])
def test_true(text: str) -> None:
    assert value(text) is True


ERRORS = {
    "'abc'.charAt(4)": "index out of range: 4",
    "'abc'.substring(2, 1)": "invalid substring range. start: 2, end: 1",
    "'abc'.substring(-1)": "index out of range: -1",
    "'abc'.indexOf('a', -1)": "index out of range: -1",
    "'%d'.format(['x'])": (
        "error during formatting: decimal clause can only be used on integers, was given string"
    ),
    "'%d'.format([])": "index 0 out of range",
    "'%k'.format([1])": 'could not parse formatting clause: unrecognized formatting clause "k"',
    "dyn([]).max()": "max called on empty list",
    "[1].slice(0, 2)": "cannot slice(0, 2), list is length 1",
    "[1].slice(1, 0)": ("cannot slice(1, 0), start index must be less than or equal to end index"),
    "url('x')": 'URL parse error during conversion from string: parse "x": invalid URI for request',
    "quantity('1 Gi')": (
        "quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    ),
    "quantity('1.5').asInteger()": "cannot convert value to integer",
    "ip('1.2.3')": (
        'IP Address "1.2.3" parse error during conversion from string: ParseAddr("1.2.3"): '
        "IPv4 address too short"
    ),
    "cidr('10.0.0.0/33')": (
        "network address parse error during conversion from string: network address parse error "
        'during conversion from string: netip.ParsePrefix("10.0.0.0/33"): '
        "prefix length out of range"
    ),
    "ip('::ffff:1.2.3.4')": 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed',
    "ip('fe80::1%en0')": 'IP address "fe80::1%en0" with zone value is not allowed',
    "semver('1.2')": "No Major.Minor.Patch elements found",
}


@pytest.mark.parametrize(("text", "told"), ERRORS.items(), ids=ERRORS)
def test_errors(text: str, told: str) -> None:
    assert error(text) == told
