-- Where the fields of citations are: weights by AdaGrad on three topics, and what goes wrong on the fourth.
--     sqlrl run cite.duckdb scripts/sql/citeseer.sql --set data=DIR/citeseer --set topic=reasoning

CREATE OR REPLACE TABLE topic AS FROM read_parquet($data || '/topic.parquet');
CREATE OR REPLACE TABLE label AS FROM read_parquet($data || '/infield.parquet');
CREATE OR REPLACE PREDICATE Token(token, position, bib) OPTIONS (example = 'bib') AS
    SELECT token, position, bib FROM read_parquet($data || '/token.parquet');
CREATE OR REPLACE PREDICATE Next(position, position) AS SELECT p1, p2 FROM read_parquet($data || '/next.parquet');
CREATE OR REPLACE PREDICATE InField(bib, field, position) OPTIONS (target = true) AS SELECT bib, field, position FROM label;

CREATE OR REPLACE MODEL chain OPTIONS (learner = 'adagrad') AS $$
    Token(token, position, bib)
    Next(position, position)
    InField(bib, field, position)
    Token(+t, p, c) => InField(c, +f, p)
    Next(p2, p1) ^ InField(c, +f1, p1) => InField(c, +f2, p2)
    InField(c, f1, p) ^ f1 != f2 => !InField(c, f2, p).
$$ TRAINED ON (SELECT bib FROM topic WHERE topic <> $topic);

FROM ML.EVALUATE(MODEL chain, (SELECT bib FROM topic WHERE topic = $topic));

CREATE OR REPLACE TABLE guess AS FROM ML.PREDICT(MODEL chain, (SELECT bib FROM topic WHERE topic = $topic));

-- Which fields are taken for which, and how sure the model was of it.
SELECT l.field AS labelled, g.field AS predicted, count(*) AS tokens, round(avg(g.margin), 2) AS margin
FROM guess g JOIN label l ON l.bib = g.bib AND l.position = g.position AND l.field <> g.field
WHERE g.truth GROUP BY ALL ORDER BY tokens DESC LIMIT 10;

-- Words that say most about a field.
SELECT text, round(weight, 2) AS weight FROM ML.WEIGHTS(MODEL chain) WHERE NOT hard ORDER BY abs(weight) DESC LIMIT 10;
