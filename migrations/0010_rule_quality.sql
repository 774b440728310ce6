-- A diagnosis says how often rules apply and are violated, and a view shows the worst first.

CREATE TABLE "rule_diagnosis" (
    "run" INTEGER NOT NULL,
    "rules" VARCHAR NOT NULL,
    "place" BIGINT NOT NULL,
    "rule" BIGINT NOT NULL,
    "line" BIGINT,
    "text" VARCHAR NOT NULL,
    "weight" DOUBLE,
    "hard" BOOLEAN NOT NULL,
    "applies" HUGEINT,
    "violations" HUGEINT,
    "confidence" DOUBLE,
    "confidence_low" DOUBLE,
    "confidence_high" DOUBLE,
    "base_rate" DOUBLE,
    "lift" DOUBLE,
    "pca_confidence" DOUBLE,
    "groundings" HUGEINT,
    "verdict" VARCHAR NOT NULL,
    "implied_by" BIGINT[] NOT NULL,
    "contradicts" BIGINT[] NOT NULL,
    "problem" VARCHAR,
    "violating_sql" VARCHAR
);
COMMENT ON TABLE "rule_diagnosis" IS 'What the newest diagnosis of each list of rules found, a row for each rule: diagnose(model) fills it.';
COMMENT ON COLUMN "rule_diagnosis"."run" IS 'Run.';
COMMENT ON COLUMN "rule_diagnosis"."rules" IS 'Hash of the rules that were diagnosed together; a later diagnosis of the same ones takes the place of an earlier one.';
COMMENT ON COLUMN "rule_diagnosis"."place" IS 'Place in the result, from 0: hard rules that are violated first, then by the share of cases in which they are violated, last those that were not counted.';
COMMENT ON COLUMN "rule_diagnosis"."rule" IS 'Number of the rule in the model or the text, from 0; the clauses of a template have one number.';
COMMENT ON COLUMN "rule_diagnosis"."line" IS 'Its line in the text; NULL if it has none.';
COMMENT ON COLUMN "rule_diagnosis"."text" IS 'The rule.';
COMMENT ON COLUMN "rule_diagnosis"."weight" IS 'Weight (log-odds); NULL if hard or not learned.';
COMMENT ON COLUMN "rule_diagnosis"."hard" IS 'True if it must hold in every grounding.';
COMMENT ON COLUMN "rule_diagnosis"."applies" IS 'Bindings of the variables of body and head that satisfy the body; NULL of what is no implication.';
COMMENT ON COLUMN "rule_diagnosis"."violations" IS 'Bindings that violate the rule: the rows of violating_sql.';
COMMENT ON COLUMN "rule_diagnosis"."confidence" IS 'Share of the bindings that satisfy the body which satisfy the head.';
COMMENT ON COLUMN "rule_diagnosis"."confidence_low" IS 'Lower end of the Wilson interval of 95 % of the confidence.';
COMMENT ON COLUMN "rule_diagnosis"."confidence_high" IS 'Its upper end.';
COMMENT ON COLUMN "rule_diagnosis"."base_rate" IS 'Share of the bindings of the head alone that satisfy it.';
COMMENT ON COLUMN "rule_diagnosis"."lift" IS 'Confidence divided by the base rate.';
COMMENT ON COLUMN "rule_diagnosis"."pca_confidence" IS 'Confidence over those bindings of whose head''s other arguments some fact is known, where the predicate of the head is to be predicted and has several arguments; else NULL.';
COMMENT ON COLUMN "rule_diagnosis"."groundings" IS 'Groundings: the product of the domain sizes.';
COMMENT ON COLUMN "rule_diagnosis"."verdict" IS 'All of that in words.';
COMMENT ON COLUMN "rule_diagnosis"."implied_by" IS 'Numbers of rules that imply it, since they subsume it.';
COMMENT ON COLUMN "rule_diagnosis"."contradicts" IS 'Numbers of rules with the same body and the negation of its head.';
COMMENT ON COLUMN "rule_diagnosis"."problem" IS 'Why it was not counted; NULL if it was.';
COMMENT ON COLUMN "rule_diagnosis"."violating_sql" IS 'A query of the bindings that violate it, by name.';

CREATE VIEW "rule_quality" AS
SELECT d.rule, d.line, d.text, d.weight, d.hard, d.applies, d.violations, d.confidence, d.confidence_low, d.confidence_high, d.base_rate, d.lift, d.pca_confidence, d.groundings, d.verdict, d.implied_by, d.contradicts, d.problem, d.violating_sql, d.run
FROM rule_diagnosis AS d
ORDER BY d.run DESC NULLS LAST, d.place ASC NULLS LAST;
COMMENT ON VIEW "rule_quality" IS 'How good rules are on the data, the worst first, and those diagnosed last before others: filled by diagnose(model).';
COMMENT ON COLUMN "rule_quality"."rule" IS 'Number of the rule in the model or the text, from 0; the clauses of a template have one number.';
COMMENT ON COLUMN "rule_quality"."line" IS 'Its line in the text; NULL if it has none.';
COMMENT ON COLUMN "rule_quality"."text" IS 'The rule.';
COMMENT ON COLUMN "rule_quality"."weight" IS 'Weight (log-odds); NULL if hard or not learned.';
COMMENT ON COLUMN "rule_quality"."hard" IS 'True if it must hold in every grounding.';
COMMENT ON COLUMN "rule_quality"."applies" IS 'Bindings of the variables of body and head that satisfy the body; NULL of what is no implication.';
COMMENT ON COLUMN "rule_quality"."violations" IS 'Bindings that violate the rule: the rows of violating_sql.';
COMMENT ON COLUMN "rule_quality"."confidence" IS 'Share of the bindings that satisfy the body which satisfy the head.';
COMMENT ON COLUMN "rule_quality"."confidence_low" IS 'Lower end of the Wilson interval of 95 % of the confidence.';
COMMENT ON COLUMN "rule_quality"."confidence_high" IS 'Its upper end.';
COMMENT ON COLUMN "rule_quality"."base_rate" IS 'Share of the bindings of the head alone that satisfy it.';
COMMENT ON COLUMN "rule_quality"."lift" IS 'Confidence divided by the base rate.';
COMMENT ON COLUMN "rule_quality"."pca_confidence" IS 'Confidence over those bindings of whose head''s other arguments some fact is known, where the predicate of the head is to be predicted and has several arguments; else NULL.';
COMMENT ON COLUMN "rule_quality"."groundings" IS 'Groundings: the product of the domain sizes.';
COMMENT ON COLUMN "rule_quality"."verdict" IS 'All of that in words.';
COMMENT ON COLUMN "rule_quality"."implied_by" IS 'Numbers of rules that imply it, since they subsume it.';
COMMENT ON COLUMN "rule_quality"."contradicts" IS 'Numbers of rules with the same body and the negation of its head.';
COMMENT ON COLUMN "rule_quality"."problem" IS 'Why it was not counted; NULL if it was.';
COMMENT ON COLUMN "rule_quality"."violating_sql" IS 'A query of the bindings that violate it, by name.';
COMMENT ON COLUMN "rule_quality"."run" IS 'Run.';
