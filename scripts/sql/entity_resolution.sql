-- Which records are the same person: weights learned from known matches among half of the names, clusters of the others.
--     sqlrl run people.duckdb scripts/sql/entity_resolution.sql --set people=people.csv
-- The file has the columns id, name, city, born, and who: the person, where that is known.

CREATE OR REPLACE TABLE record AS FROM read_csv($people, all_varchar = true);
-- Candidates share the beginning of a name or the year of birth.
CREATE OR REPLACE TABLE pair AS
    SELECT a.id AS a, b.id AS b, a.who = b.who AS same, a.who IS NOT NULL AND b.who IS NOT NULL AS known,
        jaro_winkler_similarity(a.name, b.name) > 0.92 AS name, a.city = b.city AS city, a.born = b.born AS born
    FROM record a JOIN record b ON a.id <> b.id AND (left(a.name, 2) = left(b.name, 2) OR a.born = b.born);

CREATE OR REPLACE PREDICATE SameName(record, record) AS SELECT a, b FROM pair WHERE name;
CREATE OR REPLACE PREDICATE SameCity(record, record) AS SELECT a, b FROM pair WHERE city;
CREATE OR REPLACE PREDICATE SameYear(record, record) AS SELECT a, b FROM pair WHERE born;
CREATE OR REPLACE PREDICATE Same(record, record) OPTIONS (target = true) AS SELECT a, b FROM pair WHERE known AND same;
ALTER PREDICATE Same SET SCOPE (SELECT a, b FROM pair WHERE known);
CREATE OR REPLACE MODEL fields OPTIONS (learner = 'likelihood', strength = 0.1) AS $$
    SameName(record, record)
    SameCity(record, record)
    SameYear(record, record)
    Same(record, record)
    SameName(x, y) => Same(x, y)
    SameCity(x, y) => Same(x, y)
    SameYear(x, y) => Same(x, y)
    Same(x, y)
$$;

-- Matches of all records, which have to be an equivalence.
ALTER PREDICATE Same SET SCOPE (SELECT a, b FROM pair);
CREATE OR REPLACE MODEL matching FROM MODEL fields;
ALTER MODEL matching ADD RULE 'Same(x, y) => Same(y, x).';
ALTER MODEL matching ADD RULE 'Same(x, y) ^ Same(y, z) ^ x != z => Same(x, z).';
CREATE OR REPLACE TABLE match AS SELECT record AS a, record_2 AS b FROM ML.PREDICT(MODEL matching) WHERE truth;
SELECT least(a, first) AS cluster, a AS record, name, city
FROM (SELECT a, min(b) AS first FROM match GROUP BY a) JOIN record ON id = a ORDER BY ALL;
