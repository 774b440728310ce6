-- Who smokes, of friends: learn from four towns, predict a fifth, and ask why.
--     sqlrl run scripts/sql/friends_smokers.sql --set towns=5 --set seed=0.42

CREATE TABLE town AS SELECT 't' || t AS town FROM range($towns) r(t);
SELECT setseed($seed) AS seeded;
CREATE TABLE person AS
    SELECT town, town || '_' || i AS person, i % 10 AS circle, random() < 0.85 AS conforms, random() < 0.3 AS known
    FROM town, range(40) r(i);
CREATE TABLE friend AS
    SELECT a.town, a.person AS a, b.person AS b
    FROM person a JOIN person b ON a.town = b.town AND a.circle = b.circle AND a.person <> b.person;
-- Circles of friends smoke or do not; some of their members are of another mind.
CREATE TABLE smoker AS SELECT town, person, known FROM person WHERE conforms = (circle % 3 = 0);

CREATE PREDICATE Friends(person, person) OPTIONS (example = 'town') AS SELECT a, b, town FROM friend;
CREATE PREDICATE Smokes(person) OPTIONS (example = 'town', target = true) AS SELECT person, town FROM smoker;

CREATE MODEL smoking OPTIONS (learner = 'pseudo-likelihood', discriminative = true) AS $$
    Friends(person, person)
    Smokes(person)
    Friends(x, y) ^ Smokes(x) => Smokes(y)
    Friends(x, y) ^ !Smokes(x) => !Smokes(y)
    Smokes(x)
$$ TRAINED ON (SELECT town FROM town WHERE town <> 't0');

FROM ML.WEIGHTS(MODEL smoking);

-- Of the town that was held out some are known.
CREATE OR REPLACE PREDICATE Smokes(person) OPTIONS (example = 'town', given = true) AS SELECT person, town FROM smoker WHERE known;
CREATE TABLE guess AS
    SELECT person, probability, person IN (SELECT person FROM smoker) AS smokes
    FROM ML.PROBABILITIES(MODEL smoking, (SELECT 't0'));
SELECT count(*) AS people, avg((smokes = (probability > 0.5))::int) AS accuracy FROM guess;
