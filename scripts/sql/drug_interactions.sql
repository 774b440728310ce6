-- Which drugs interact: soft rules of paths between two drugs, from half of the interactions, scored on pairs that were held out.
--     sqlrl run drugs.duckdb scripts/sql/drug_interactions.sql --set data=DIR/drug-interactions

-- Interactions have no direction: a pair is in one part, both ways.
CREATE OR REPLACE TABLE pair AS
    SELECT least(drug1, drug2) AS a, greatest(drug1, drug2) AS b, max(label::int) AS label, md5(a || b) < '8' AS observed, md5(a || b) > 'c' AS held_out
    FROM read_csv($data || '/interacts.csv', all_varchar = true) GROUP BY ALL;
CREATE OR REPLACE TABLE link AS FROM pair UNION ALL SELECT b, a, label, observed, held_out FROM pair;

CREATE OR REPLACE PREDICATE Target(protein, drug) AS FROM read_csv($data || '/target.csv', all_varchar = true);
CREATE OR REPLACE PREDICATE Enzyme(protein, drug) AS FROM read_csv($data || '/enzyme.csv', all_varchar = true);
CREATE OR REPLACE PREDICATE Transporter(protein, drug) AS FROM read_csv($data || '/transporter.csv', all_varchar = true);
CREATE OR REPLACE PREDICATE Interacts(drug, drug) OPTIONS (value = 'label', given = true) AS
    SELECT a, b, label FROM link WHERE observed;
CREATE OR REPLACE PREDICATE Interacts(drug, drug) OPTIONS (value = 'label', target = true) AS
    SELECT a, b, label FROM link WHERE NOT observed AND NOT held_out;
ALTER PREDICATE Interacts SET SCOPE (SELECT a, b FROM link WHERE NOT observed AND NOT held_out);

CREATE OR REPLACE MODEL interactions OPTIONS (learner = 'soft-structure', target = 'Interacts', min_targets = 3);
SELECT text, round(weight, 2) AS weight FROM ML.WEIGHTS(MODEL interactions) ORDER BY weight DESC LIMIT 10;

-- The pairs that were held out become the query atoms.
CREATE OR REPLACE PREDICATE Interacts(drug, drug) OPTIONS (value = 'label', target = true) AS
    SELECT a, b, label FROM link WHERE held_out;
ALTER PREDICATE Interacts SET SCOPE (SELECT a, b FROM link WHERE held_out);
SELECT predicate, auc_roc, average_precision, atoms FROM ML.EVALUATE(MODEL interactions, observed_bodies => true, missing => 'false');
SELECT drug, drug_2, round(value, 3) AS value FROM ML.PREDICT(MODEL interactions, observed_bodies => true, missing => 'false')
    ORDER BY value DESC, drug, drug_2 LIMIT 5;
