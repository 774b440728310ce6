-- A model of universities carried over to films: mapped, diagnosed, and revised where it is wrong there.
--     sqlrl run films.duckdb scripts/sql/transfer.sql --set data=DIR/imdb --set fold=fold1.db

-- Each file is an example, each of its lines a fact: predicate(argument, ...).
CREATE OR REPLACE TABLE fact AS
    SELECT fold, regexp_extract(line, '^\w+') AS predicate, string_split(regexp_replace(regexp_extract(line, '\((.*)\)', 1), '\s', '', 'g'), ',') AS arguments
    FROM (
        SELECT parse_filename(filename) AS fold, unnest(string_split(content, chr(10))) AS line
        FROM read_text($data || '/*.db')
    ) WHERE line LIKE '%(%)%';
CREATE OR REPLACE PREDICATE Actor(person) OPTIONS (example = 'fold') AS
    SELECT DISTINCT arguments[1], fold FROM fact WHERE predicate = 'actor' AND fold <> $fold;
CREATE OR REPLACE PREDICATE Director(person) OPTIONS (example = 'fold') AS
    SELECT DISTINCT arguments[1], fold FROM fact WHERE predicate = 'director' AND fold <> $fold;
CREATE OR REPLACE PREDICATE Movie(film, person) OPTIONS (example = 'fold') AS
    SELECT DISTINCT arguments[1], arguments[2], fold FROM fact WHERE predicate = 'movie' AND fold <> $fold;
CREATE OR REPLACE PREDICATE WorkedUnder(person, person) OPTIONS (example = 'fold') AS
    SELECT DISTINCT arguments[1], arguments[2], fold FROM fact WHERE predicate = 'workedUnder' AND fold <> $fold;

CREATE OR REPLACE MODEL universities AS $$
    Student(person)
    Professor(person)
    Publication(paper, person)
    AdvisedBy(person, person)
    4 AdvisedBy(x, y) => Student(x)
    4 AdvisedBy(x, y) => Professor(y)
    3 Student(x) => !Professor(x)
    2 Publication(p, x) ^ Publication(p, y) ^ Student(x) ^ Professor(y) => AdvisedBy(x, y)
$$;
CREATE OR REPLACE MODEL films OPTIONS (learner = 'transfer', max_literals = 4, mapping = $$
    Student -> Actor
    Professor -> Director
    Publication -> Movie
    AdvisedBy -> WorkedUnder
$$) FROM MODEL universities;
SELECT formula, target, too_general, too_specific FROM sqlrl.diagnosis WHERE too_general OR too_specific;
SELECT text, round(weight, 2) AS weight, origin FROM ML.WEIGHTS(MODEL films) ORDER BY abs(weight) DESC;
