//! The `math` verifier on awkward answers, in the writings of people and models: which are the same, which are not,
//! where answers stand, and what is said of those that cannot be judged.

use anneal::verifier::{Case, Config, Outside, Score, ScoreStatus};
use serde_json::{Map, Value, json};

/// Expected and given answers that are the same; lines that begin with `--` say what the next ones are about.
const SAME: &str = r#"
1/2 ~ 0.5
1/2 ~ \frac12
1/2 ~ ½
3.5 ~ 3½
7/2 ~ 3\frac12
-7/2 ~ -3\frac{1}{2}
7/2 ~ 3 1/2
\frac{1}{3} ~ 0.\overline{3}
0.1\overline{6} ~ \frac16
1e3 ~ 1000
1000000 ~ 10^6
1000000 ~ 1\,000\,000
6.02 \times 10^{23} ~ 602\cdot10^{21}
x^2 ~ x²
\sqrt{8} ~ 2√2
\sqrt{8} ~ 2^{3/2}
\frac{\sqrt{2}}{2} ~ 1/\sqrt{2}
-2 ~ \sqrt[3]{-8}
2i ~ \sqrt{-4}
-1 ~ i^2
-1 ~ e^{i\pi}
3 ~ \log_2 8
2 ~ \log 100
1 ~ \ln e
\frac{\pi}{4} ~ \arctan 1
\frac{\pi}{4} ~ \tan^{-1}(1)
\frac{1}{2} ~ \sin\frac{\pi}{6}
5 ~ |{-5}|
120 ~ 5!
10 ~ \binom{5}{2}
2 ~ \lfloor 2.7 \rfloor
3 ~ \lceil 2.1 \rceil
(x+1)^2 ~ x^2+2x+1
x(x+1) ~ x^2+x
\frac{x^2-1}{x-1} ~ x+1
ab ~ ba
2xy ~ 2yx
x_1+x_2 ~ x_2+x_{1}
\alpha+\beta ~ \beta+\alpha
f(x)+1 ~ 1+f(x)
e^{2x} ~ (e^x)^2
x=5 ~ 5
5 ~ x=5
y=2x+3 ~ 2x+3
y = 2x + 3 ~ 2x - y = -3
f(x)=x^2 ~ x^2
\{1,2\} ~ 2,1
1,2 ~ \{1, 2\}
x=1,x=2 ~ 1 \text{ and } 2
x = \pm 2 ~ 2,-2
(1,2) ~ \left(1,2\right)
(1,2) ~ \langle 1,2\rangle
(1,2) ~ \begin{pmatrix}1\\2\end{pmatrix}
[1,2] ~ [1, \frac{4}{2}]
1 \le x \le 2 ~ [1,2]
x>3 ~ (3,\infty)
x \ne 3 ~ (-\infty,3)\cup(3,\infty)
x<1 \text{ or } x>2 ~ (-\infty,1)\cup(2,\infty)
(-\infty,\infty) ~ \mathbb{R}
[0,1]\cup[1,2] ~ [0,2]
\{x \mid x > 2\} ~ (2,\infty)
\emptyset ~ \{\}
5\% ~ 5
5\% ~ 0.05
5\% ~ \frac{1}{20}
90^\circ ~ \frac{\pi}{2}
\$5 ~ 5
\$1,000.50 ~ 1000.5
5\text{ km} ~ 5000\text{ m}
2\text{ hours} ~ 120 minutes
36\text{ km/h} ~ 10\text{ m/s}
12 apples ~ 12
twelve ~ 12
\text{seven} ~ 7
3:4 ~ 6:8
3:4 ~ \frac34
101_2 ~ 101_{2}
yes ~ \text{Yes}
(B) ~ \textbf{B}
no ~ No.
\infty ~ +\infty
2^{10} ~ 1024
10^{100} ~ 10^{100}
9^{9^{9}} ~ 9^{9^9}
a<b<c ~ c>b>a
x^2+y^2=1 ~ y^2+x^2-1=0
4.123105625617661 ~ \sqrt{17}
\sqrt{3+2\sqrt2} ~ 1+\sqrt2
\cos 2x ~ 1-2\sin^2x
|2x| ~ 2|x|
|x-1| ~ |1-x|
|x|^2 ~ x^2
2^{x+3} ~ 8\cdot 2^x
\sqrt{x^2+2x+1} ~ \sqrt{(x+1)^2}
\ln(xy) - \ln(xy) ~ 0
2,5 ~ \{2, 5\}
\frac{3}{4}\text{ of it} ~ 0.75
-- letters one by one
xy^2 ~ x y^2
xy^2 ~ y^2x
xe^x ~ x e^x
2^ab ~ 2^a b
\sqrt xy ~ y\sqrt{x}
\frac ab ~ a/b
\frac ab ~ \frac{a}{b}
\frac1{ab} ~ 1/(ab)
xy_1 ~ x y_1
2^{10} ~ 2^10
\frac abc ~ \frac{ac}{b}
abc ~ cba
\sin xy ~ \sin(xy)
-- exponents and arguments without braces
4 ~ 2^3\frac12
x^2/2 ~ x^2\frac12
\sqrt3/2 ~ \sqrt3\frac12
3.5 ~ 3\frac12
\sqrt{3\frac12} ~ \sqrt{3.5}
-- words that multiply or change a number
5000000 ~ 5 million
2.5 million ~ 2500000
60 ~ 5 dozen
5 ~ 5\text{ dozen}
5 ~ 5\text{ pairs}
5\text{ million dollars} ~ \$5{,}000{,}000
\frac{3}{4}\text{ of it} ~ 0.75
3 ~ 3\text{ cups of flour}
-- functions made of pieces
|2x| ~ 2|x|
|x-1| ~ |1-x|
|x|^2 ~ x^2
|xy| ~ |x||y|
\sqrt{x^2} ~ |x|
\lceil x\rceil ~ -\lfloor -x\rfloor
-- what the values are said of
x=1,y=2 ~ 1,2
x=2,y=3 ~ (2,3)
x=2,y=3 ~ (x,y)=(2,3)
(x,y)=(2,3) ~ x=2,y=3
(2,3) ~ x=2,y=3
f(x)=x^2 ~ f(t)=x^2
\{1,2\} ~ x_1=2,x_2=1
x=2,y=3 ~ y=3,x=2
AB=3, BC=4 ~ BC=4, AB=3
5 ~ f(2)=5
f(2)=5 ~ 5
\frac{a}{b}=3 ~ \frac{a}{b}=3
\frac34 ~ \frac{a}{b}=\frac{3}{4}
|x|=3 ~ |x|=3
y=x^2 ~ f(x)=x^2
3 ~ |AB|=3
x=1,x=2 ~ 2,1
\frac{a}{b} = 3 ~ a/b=3
7 ~ \text{mean}=7
-- a number times a matrix, and no part of an answer
\frac12\begin{pmatrix}1\\2\end{pmatrix} ~ \frac12\begin{pmatrix}1\\2\end{pmatrix}
\frac12\begin{pmatrix}1\\2\end{pmatrix} ~ \begin{pmatrix}1/2\\1\end{pmatrix}
-\begin{pmatrix}1\\2\end{pmatrix} ~ \begin{pmatrix}-1\\-2\end{pmatrix}
\begin{pmatrix}1\\2\end{pmatrix}+t\begin{pmatrix}3\\4\end{pmatrix} ~ \begin{pmatrix}1+3t\\2+4t\end{pmatrix}
A = \begin{pmatrix}1\\2\end{pmatrix} ~ \begin{pmatrix}1\\2\end{pmatrix}
(1,2,3)+t(1,0,2) ~ (1+t,2,3+2t)
(1,2,3)+t(1,0,2) ~ (1,2,3) + t(1,0,2)
\left(\begin{array}{c}1\\2\end{array}\right) ~ \begin{pmatrix}1\\2\end{pmatrix}
-- units in ratios, times and inequalities
3:45 PM ~ 3:45\text{ PM}
3:45 PM ~ 3:45\text{ p.m.}
3:45 PM ~ 3:45
3:45 ~ 3:45\text{ PM}
x<5\text{ cm} ~ x<5\text{ cm}
x<5\text{ cm} ~ x<5
x<50\% ~ x<50\%
3\text{ cm}:2\text{ cm} ~ 3:2
3:4 ~ \frac34
-- and, or, and infinite ends
x>1 \text{ and } x<3 ~ (1,3)
x>1, x<3 ~ (1,3)
x>1 \text{ and } x<3 ~ 1<x<3
x>1 \text{ and } x<3 ~ x<3\text{ and }x>1
x<2 \text{ or } x>3 ~ x>3\text{ or }x<2
x<2 \text{ or } x>3 ~ x>3, x<2
x<2 \text{ or } x>3 ~ (-\infty,2)\cup(3,\infty)
(2,\infty] ~ (2,\infty]
x+y>1\text{ and }x-y<2 ~ x-y<2\text{ and }x+y>1
x>-1\text{ and }x<1\text{ or }2<x<3 ~ (-1,1)\cup(2,3)
[1,3]\cap[2,5] ~ [2,3]
-- what is compared as it is written
\binom{n}{k} ~ \binom{n}{k}
2^{\binom n2} ~ 2^{\binom{n}{2}}
A\cup B ~ A\cup B
A\cup B ~ B \cup A
3 \pmod 7 ~ 3 \pmod{7}
x\equiv 3\pmod 7 ~ x \equiv 3 \pmod 7
\text{March } 5 ~ \text{March }5
\text{March } 5 ~ March 5
\text{(C)}\ 12 ~ \text{(C)}\ 12
3\text{ hours }20\text{ minutes} ~ 3 \text{ hours } 20 \text{ minutes}
5\text{ ft }6\text{ in} ~ 5\text{ ft }6\text{ in}
\max(a,b) ~ \max(a, b)
f(x)=\begin{cases}1&x>0\\2&x\le0\end{cases} ~ f(x)=\begin{cases}1 & x>0\\ 2 & x\le 0\end{cases}
\begin{vmatrix}1&2\\3&4\end{vmatrix} ~ \begin{vmatrix}1&2\\3&4\end{vmatrix}
FF_{16} ~ FF_{16}
1,2,\ldots,n ~ 1,2,\ldots,n
\sum_{k=1}^n k ~ \sum_{k=1}^{n} k
\int_0^1 x\,dx ~ \int_0^1 x dx
-- units in a roman style, colors and choices
5\text{ cm} ~ 5\mathrm{~cm}
5\mathrm{~km} ~ 5000\text{ m}
5\mathrm{~km} ~ 5000\mathrm{~m}
5 \mathrm{~cm}^2 ~ 5\text{ cm}^2
10 \mathrm{~m}/\mathrm{s} ~ 10\text{ m/s}
18 ~ 18\,\mathrm{m}
18 ~ \text{18 dollars}
18 ~ \text{18 cm}
18 ~ \color{red}18
18 ~ \textcolor{red}{18}
18 ~ \text{(B) }18
20^\circ C ~ 20^\circ\text{C}
30^\circ ~ \frac\pi6\text{ radians}
18m ~ 18m
-- percents
25 ~ 25\%
0.25 ~ 25\%
\frac14 ~ 25\%
"#;

/// Expected and given answers that are not.
const DIFFERENT: &str = r#"
1/2 ~ 2
0.5 ~ 0.51
12 ~ 1,2
12 ~ 21
3\frac12 ~ \frac32
1/3 ~ 0.33
1/3 ~ 0.3333
0.00000001 ~ 0.00000002
10^{20} ~ 10^{20}+1
123456789012345678 ~ 123456789012345679
e^{\pi\sqrt{163}} ~ 262537412640768744
\sqrt{x^2} ~ x
\sqrt{x^2+10x+25} ~ x+5
\sqrt{x^2-10x+25} ~ 5-x
\sqrt{x^2-400x+40000} ~ 200-x
|x+5| ~ x+5
|x-50| ~ 50-x
\sqrt{\frac{x}{y}} ~ \frac{\sqrt{x}}{\sqrt{y}}
\sqrt{xy} ~ \sqrt{x}\sqrt{y}
\lfloor x \rfloor ~ x
(1,2) ~ [1,2
(0,1) ~ x<1>0
x! ~ \text{x}
\ln(x^2) ~ 2\ln x
|x| ~ x
\sqrt{2}+\sqrt{3} ~ \sqrt{5}
-x ~ x
x+1 ~ y+1
x ~ x_1
x' ~ x
f(x) ~ g(x)
f(1) ~ f(2)
x=5 ~ y=5
x=5 ~ x=6
f(x)=x^2 ~ g(x)=x^2
2x+z=1 ~ 1
7=11a+c ~ 11a+c
(1,2) ~ (2,1)
(1,2) ~ [1,2]
(1,2) ~ \{1,2\}
(1,2) ~ (1,2,3)
[1,2) ~ (1,2]
\{1,2\} ~ 1
1 ~ 1,2
1,2 ~ 1
\pm 2 ~ 2
2\pm1 ~ 3
x>3 ~ x\ge3
x>3 ~ x<3
x>3 ~ 3
[1,2] ~ 1\le x\le2
x\ne3 ~ x=3
x<1\text{ or }x>2 ~ 1<x<2
x=1,y=2 ~ x=2,y=1
(-\infty,3)\cup(3,\infty) ~ \mathbb{R}
5\% ~ 500
5\% ~ 6\%
\$5 ~ €5
5\text{ m} ~ 5\text{ s}
5\text{ cm} ~ 5\text{ cm}^2
5 apples ~ 5 oranges
90^\circ ~ \frac{\pi}{3}
12:30 ~ 12:03
11:22 ~ 1:2
3:4 ~ 4:3
204_5 ~ 204
204_5 ~ 54
101_2 ~ 101_3
no ~ on
yes ~ no
A ~ B
\text{Evelyn} ~ \text{Even}
5 ~ 5 \text{ or more}
2^{10} ~ 2^{11}
9^{9^9} ~ 9^{9^8}
10^{400} ~ 10^{401}
\infty ~ -\infty
\infty ~ 10^{300}
1 ~ 0.999999
a<b<c ~ a<c<b
x^2+y^2=1 ~ x^2+y^2=2
\frac{1}{x} ~ x
\sin x ~ \cos x
\sin x ~ x
x^2-x ~ 0
0 ~ x-y
\log x ~ \ln x
i ~ -i
1+i ~ 1-i
\overline{AB} ~ AB
\vec{v} ~ v
x \in (1,2) ~ x \in [1,2]
\begin{pmatrix}1&2\end{pmatrix} ~ \begin{pmatrix}1\\2\end{pmatrix}
2 ~ \frac{1}{0}
100 ~ 1e3
1,234 ~ 1.234
0.1 ~ 0,2
3 1/2 ~ 31/2
-3 ~ 3
5! ~ 5
42 ~ 4\cdot 2
\{1,2,3\} ~ \{1,2,4\}
x^{2} ~ x^{3}
xy ~ x+y
\frac{a}{b} ~ \frac{b}{a}
2x ~ x^2
-- letters one by one
x^2y^2 ~ xy^2
(ab)^3 ~ ab^3
3x^2y^2 ~ 3xy^2
\frac1{ab} ~ ab^{-1}
abc^2 ~ a^2b^2c^2
xe^x ~ (xe)^x
a!b! ~ ab!
2^{ab} ~ 2^ab
x^{ay} ~ x^ay
\sqrt{xy} ~ \sqrt xy
-- exponents and arguments without braces
2^{3.5} ~ 2^3\frac12
x^{5/2} ~ x^2\frac12
\sqrt{3.5} ~ \sqrt3\frac12
-- words that multiply or change a number
5 ~ 5\text{ thousand}
5 ~ 5\text{ billion}
5 ~ 5\text{ hundred}
18 ~ 18\text{ squared}
18 ~ 18\text{ cubed}
18 ~ 18\text{ thirds}
18 ~ 18\text{ tenths}
18 ~ 18\text{ negative}
18 ~ 18\text{ percent of }x
-- functions made of pieces
|x^2-1| ~ x^2-1
|x^2-x| ~ x^2-x
|x-1|+|x+1| ~ 2|x|
||x|-1| ~ |x|-1
|4x^2-1| ~ 4x^2-1
\lceil x\rceil ~ \lfloor x\rfloor+1
|(x-3)(x-5)| ~ (x-3)(x-5)
|x+y| ~ |x|+|y|
|100x^2-1| ~ 100x^2-1
-- what the values are said of
\frac ab=3 ~ \frac ba=3
\frac{a}{b}=3 ~ \frac{b}{a}=3
a:b=2:3 ~ b:a=2:3
(x,y)=(1,2) ~ (y,x)=(1,2)
f(2)=5 ~ f(3)=5
x=3 ~ |x|=3
x=3 ~ x/y=3
3 ~ |x|=3
AB=3, BC=4 ~ AB=4, BC=3
f(1)=2,f(2)=3 ~ f(1)=3,f(2)=2
\text{mean}=5,\text{median}=6 ~ \text{mean}=6,\text{median}=5
x=1,y=2 ~ 2,1
x=2,y=3 ~ (3,2)
x=2,y=3 ~ (y,x)=(2,3)
P(A)=\frac12 ~ P(B)=\frac12
x=1,y=2 ~ x=2,y=1
\frac{a}{b}=3 ~ a/b=4
-- a number times a matrix, and no part of an answer
\frac12\begin{pmatrix}1\\2\end{pmatrix} ~ \begin{pmatrix}1\\2\end{pmatrix}
-\begin{pmatrix}1\\2\end{pmatrix} ~ \begin{pmatrix}1\\2\end{pmatrix}
\begin{pmatrix}1\\2\end{pmatrix}+t\begin{pmatrix}3\\4\end{pmatrix} ~ (3,4)
\begin{pmatrix}1\\2\end{pmatrix}+t\begin{pmatrix}3\\4\end{pmatrix} ~ \begin{pmatrix}3\\4\end{pmatrix}
\det\begin{pmatrix}1&2\\3&4\end{pmatrix} ~ \begin{pmatrix}1&2\\3&4\end{pmatrix}
\det M ~ M
\begin{pmatrix}1&2\\3&4\end{pmatrix}^2 ~ \begin{pmatrix}1&2\\3&4\end{pmatrix}
(1,2,3)+t(1,0,2) ~ (1,2,3) + s(1,0,2)
-- units in ratios, times and inequalities
3:45 PM ~ 3:45 AM
10:00 AM ~ 10:00 PM
10:00 AM ~ 10\colon 00\text{ p.m.}
x<5\text{ cm} ~ x<5\text{ m}
x<50\% ~ x<50
3\text{ km}:2\text{ m} ~ 3:2
12:30 ~ \frac25
-- and, or, and infinite ends
x<2 \text{ or } x>3 ~ x<2\text{ and }x>3
x>1 \text{ and } x<3 ~ x>1\text{ or }x<3
(\infty,2)\cup(3,-\infty) ~ (-\infty,2)\cup(3,\infty)
(-\infty,2)\cup(3,\infty) ~ (\infty,2)\cup(3,-\infty)
(2,\infty] ~ (2,\infty)
(2,\infty) ~ (2,\infty]
x+y>1\text{ and }x-y<2 ~ x-y<2\text{ or }x+y>1
x<2 \text{ or } x>3 ~ x<2
-- what is compared as it is written
\binom{n}{k} ~ \binom{k}{n}
A\cup B ~ A\cap B
3 \pmod 7 ~ 3
3 \pmod 7 ~ 4 \pmod{7}
\text{March } 5 ~ \text{March }6
\max(a,b) ~ \min(a, b)
\sum_{k=1}^n k ~ \sum_{k=0}^{n} k
-- units in a roman style, colors and choices
5\mathrm{~km} ~ 5\mathrm{~m}
20^\circ C ~ 20^\circ F
30^\circ ~ 30\text{ radians}
18m ~ 18n
18 ~ 18x
-- percents
0.25 ~ 0.25\%
25 ~ 2500\%
"#;

/// Expected answers and completions that give them, `⏎` for a new line.
const STATED: &str = include_str!("data/math_stated.txt");

/// Expected answers and completions that do not give them.
const NOT_STATED: &str = include_str!("data/math_not_stated.txt");

fn score(config: Value, gold: &str, completion: &str) -> Score {
    let mut config = config;
    config["type"] = json!("math");
    let verifier = Config::parse(&config, "").unwrap().build(&Outside::default());
    verifier.verify(&Case { prompt: "", completion, answer: Some(gold), row: &Map::new() })
}

fn same(config: Value, gold: &str, answer: &str) -> bool {
    let score = score(config, gold, &format!("So it is \\boxed{{{answer}}}."));
    assert!(matches!(score.status, ScoreStatus::Ok), "{gold} and {answer}: {score:?}");
    score.reward > 0.0
}

#[test]
fn answers_are_the_same_however_they_are_written() {
    for (gold, answer) in SAME.lines().filter_map(|line| line.split_once(" ~ ")) {
        assert!(same(json!({}), gold, answer), "{gold} and {answer}");
    }
}

#[test]
fn answers_that_only_look_alike_are_not_the_same() {
    for (gold, answer) in DIFFERENT.lines().filter_map(|line| line.split_once(" ~ ")) {
        assert!(!same(json!({}), gold, answer), "{gold} and {answer}");
    }
}

#[test]
fn sentences_give_the_answer_that_they_state() {
    let case = |line: &'static str| line.split_once(" ~ ").map(|(gold, text)| (gold, text.replace('⏎', "\n")));
    let cases = |text: &'static str| text.lines().filter_map(case);
    for (gold, completion) in cases(STATED) {
        assert_eq!(score(json!({}), gold, &completion).reward, 1.0, "{gold} in {completion:?}");
    }
    for (gold, completion) in cases(NOT_STATED) {
        assert_eq!(score(json!({}), gold, &completion).reward, 0.0, "{gold} in {completion:?}");
    }
}

#[test]
fn settings_widen_what_is_the_same() {
    for (config, gold, answer) in [
        (json!({"precision": 2}), "1/3", "0.33"),
        (json!({"strict": false}), "x+1", "y+1"),
        (json!({"strict": false}), "(1,2)", "\\{2,1\\}"),
        (json!({"strict": false}), "x=5", "y=5"),
        (json!({"allow_set_relation_comp": true}), "[1,2]", "1\\le x\\le 2"),
    ] {
        assert!(!same(json!({}), gold, answer) && same(config, gold, answer), "{gold} and {answer}");
    }
    let partial = json!({"partial": true});
    assert_eq!(score(partial.clone(), "1,2,3,4", "\\boxed{1,2}").reward, 0.5);
    assert_eq!(score(partial.clone(), "1,2", "\\boxed{1,2,3,4}").reward, 0.5);
    assert_eq!(score(partial, "1,2", "\\boxed{3}").reward, 0.0);
}

#[test]
fn the_answer_is_looked_for_in_an_order() {
    let all = "The answer is 1. \\boxed{2} and #### 3\nthen 4";
    for (places, found) in [
        (json!(["boxed", "marker"]), "2"),
        (json!(["marker", "boxed"]), "3"),
        (json!(["final_answer"]), "1"),
        (json!(["last"]), "4"),
    ] {
        assert_eq!(score(json!({"extract": places}), found, all).reward, 1.0, "{places}");
    }
    for (gold, completion) in [
        ("5", "First \\boxed{4}, then \\boxed{5}."),
        ("5", "\\boxed{4} and later \\boxed{ 5 }"),
        ("4", "\\boxed{4} and \\boxed{5"),
        ("4,5", "\\boxed{4} and \\boxed{5}"),
        ("5", "\\boxed{\\boxed{5}}"),
        ("5", "\\boxed{5} \\boxed{5}"),
        ("5", "The final answer is 5."),
        ("5", "**Final Answer**: $5$"),
        ("5", "The answer is: 5 apples. I hope so."),
        ("1000", "Final answer: $1,000.00"),
        ("x^2", "so the answer is $x^2$, as said"),
        ("7", "#### 7\n"),
        ("2/3", "we get P(A) = 2/3 in the end, which is what we wanted"),
        ("3+4i", "This means that z = 3 + 4i"),
        ("-5", "it follows that x is -5."),
        ("(1, 2)", "the point is (1, 2)."),
        ("12", "so there are 12 of them."),
        ("1.5", "it weighs 1.5 kg."),
        ("5", "So x = 5"),
        ("2,3", "So $x = 2$ or $x = 3$."),
        ("5", "we get 5"),
        ("x=5", "so it is $x = 5$ then"),
        ("Evelyn", "The answer is Evelyn."),
        ("B", "Answer: (B)"),
    ] {
        assert_eq!(score(json!({}), gold, completion).reward, 1.0, "{gold} in {completion:?}");
    }
    for (gold, completion) in [
        ("12", "\\boxed{123"),
        ("10", "The result is 2^10"),
        ("4i", "so that z = 3 + 4i"),
        ("2", "the point is (1, 2)."),
        ("2", "the fraction is 1/2"),
        ("5", "it follows that x is -5."),
        ("3", "I had 3 and now have 4"),
    ] {
        assert_eq!(score(json!({}), gold, completion).reward, 0.0, "{gold} in {completion:?}");
    }
}

#[test]
fn what_cannot_be_judged_is_said() {
    for completion in ["", "???", "\\boxed{}", "$$ $$"] {
        let score = score(json!({"read": ["latex", "plain"]}), "5", completion);
        assert!(matches!(score.status, ScoreStatus::Unparsable), "{completion:?}: {score:?}");
    }
    for gold in ["", "\\frac{1}{", "{}", "\\sqrt{2}}"] {
        let score = score(json!({}), gold, "\\boxed{5}");
        assert!(matches!(score.status, ScoreStatus::Error), "{gold:?}: {score:?}");
    }
    assert!(matches!(score(json!({}), "\\frac{1}{0}", "\\boxed{5}").status, ScoreStatus::Error));
}

#[test]
fn equal_answers_have_one_form() {
    let form = |answer: &str| score(json!({}), "1", &format!("\\boxed{{{answer}}}")).answer.unwrap();
    for (forms, expected) in [
        (&["1/2", "0.5", "\\frac{2}{4}", "\\sin 30^\\circ", "x = 0.5"][..], "1/2"),
        (&["\\sqrt{12}", "2\\sqrt{3}"], "2 3^(1/2)"),
        (&["3,1,2", "\\{1,2,3\\}"], "{1, 2, 3}"),
        (&["(x+1)^2", "x^2+2x+1", "1+x^2+2x"], "1 + 2 x + x^2"),
        (&["2y=4x", "y-2x=0", "-6x+3y=0"], "-1/2 y + x = 0"),
        (&["\\text{ Evelyn. }"], "evelyn"),
    ] {
        for answer in forms {
            assert_eq!(form(answer), expected, "{answer}");
        }
    }
}

#[test]
fn what_a_model_thinks_is_no_answer() {
    let reward = |completion: &str| score(json!({}), "18", completion).reward;
    assert_eq!(reward("<think>Perhaps \\boxed{18}?</think>The answer is 20."), 0.0);
    assert_eq!(reward("<think>Perhaps \\boxed{20}?</think>The answer is 18."), 1.0);
}
