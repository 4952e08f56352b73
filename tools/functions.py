"""The ClickHouse functions a model-written SELECT may call; every other name is refused.

A list of what may be called fails closed: a function nobody thought of cannot read a file, open
an address, wait, or tell about the server. Names are lower-case; aggregates also take the
combinators below.
"""

from __future__ import annotations

COMBINATORS = ("if", "distinct", "ornull", "ordefault")

AGGREGATES = frozenset(
    """
    count sum sumkahan sumwithoverflow avg avgweighted min max any anylast anyheavy argmin argmax
    uniq uniqexact uniqcombined uniqhll12 quantile quantiles quantileexact quantilesexact
    quantileexactlow quantileexacthigh quantiletdigest median medianexact stddevpop stddevsamp
    stddevpopstable stddevsampstable varpop varsamp varpopstable varsampstable covarpop covarsamp
    corr corrstable skewpop skewsamp kurtpop kurtsamp simplelinearregression grouparray
    groupuniqarray first_value last_value topk entropy deltasum boundingratio
    """.split()
)

WINDOWS = frozenset(
    """
    row_number rank dense_rank percent_rank ntile lag lead laginframe leadinframe nth_value
    cume_dist
    """.split()
)

SCALARS = frozenset(
    """
    if multiif coalesce ifnull nullif isnull isnotnull isnan isfinite isinfinite ifnotfinite
    assumenotnull tonullable isnulllable greatest least not and or xor equals notequals less
    lessorequals greater greaterorequals plus minus multiply divide intdiv intdivorzero modulo
    negate abs sign round roundbankers floor ceil ceiling trunc truncate exp log ln log2 log10
    log1p sqrt cbrt power pow exp2 exp10 sinh cosh tanh sin cos tan pi e
    tofloat32 tofloat64 tofloat64ornull tofloat64orzero toint8 toint16 toint32 toint64 touint8
    touint16 touint32 touint64 toint64ornull toint64orzero todecimal32 todecimal64 todecimal128
    todecimal64ornull tostring todate todate32 todateornull todatetime todatetime64 cast
    accuratecast accuratecastornull tolowcardinality
    toyear toquarter tomonth todayofyear todayofmonth todayofweek tohour tominute tosecond
    toisoweek toisoyear toweek toyyyymm toyyyymmdd tostartofyear tostartofquarter tostartofmonth
    tostartofweek tostartofday tostartofinterval tomonday tolastdayofmonth date_trunc datetrunc
    date_diff datediff age date_add dateadd date_sub datesub addyears addquarters addmonths
    addweeks adddays addhours subtractyears subtractquarters subtractmonths subtractweeks
    subtractdays subtracthours makedate makedate32 today yesterday now formatdatetime datename
    year quarter month day week hour extract interval tointervalday tointervalmonth
    tointervalyear tointervalweek tointervalquarter
    length lengthutf8 char_length empty notempty lower upper lowerutf8 upperutf8 initcap
    initcaputf8 trim trimboth trimleft trimright ltrim rtrim substring substr substringutf8 left
    leftutf8 right rightutf8 concat concatws concat_ws replace replaceone replaceall
    replaceregexpone replaceregexpall position positioncaseinsensitive positionutf8
    positioncaseinsensitiveutf8 locate startswith endswith like ilike notlike notilike match
    extractall splitbychar splitbystring reverse reverseutf8 format ngramdistance
    ngramdistanceutf8 ngramsearch ngramsearchutf8 editdistance editdistanceutf8
    array tuple map tupleelement arrayelement arrayconcat arrayjoin arraystringconcat
    arraydistinct arrayuniq arrayenumerate arrayreverse arrayslice arrayzip indexof has hasall
    hasany mapkeys mapvalues mapcontains arrayflatten countequal
    siphash64 cityhash64 xxhash64 bitand bitor bitxor grouping transform runningdifference
    financialnetpresentvalue financialinternalrateofreturn
    """.split()
)

# These take a lambda first. A bare name there would be taken for a function, of any kind.
LAMBDA_FIRST = frozenset(
    """
    arraymap arrayfilter arrayexists arrayall arraycount arraymin arraymax arraysum arrayavg
    arrayproduct arraycumsum arraycumsumnonnegative arraysort arrayreversesort arrayfirst
    arraylast arrayfirstindex arraylastindex arraycompact arraydifference
    """.split()
)

# Types that take parameters, inside CAST.
TYPES = frozenset(
    "decimal decimal32 decimal64 decimal128 fixedstring nullable lowcardinality datetime64".split()
)

# Words that stand before a parenthesis and are no functions.
KEYWORDS = frozenset(
    """
    in not and or xor as select distinct all any from join on using where prewhere having by when
    then else case between like ilike over union except intersect interval qualify limit offset
    with exists filter rollup cube sets array left right inner outer full cross semi anti asof
    global replace window rows range end is values
    """.split()
) - {"values", "range"}


def may_be_called(name: str) -> bool:
    """Say whether a function of this name, in any case, may stand in a model-written SELECT."""
    lower = name.lower()
    if lower in SCALARS or lower in WINDOWS or lower in LAMBDA_FIRST or lower in AGGREGATES:
        return True
    for _ in range(2):
        for combinator in COMBINATORS:
            if lower.endswith(combinator):
                lower = lower.removesuffix(combinator)
                break
        if lower in AGGREGATES:
            return True
    return False
