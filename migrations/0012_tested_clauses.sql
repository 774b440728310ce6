-- Clauses that ILP finds are tested on labels that its search has not seen, and keep their p-values.

ALTER TABLE "candidate" ADD COLUMN "p_value" DOUBLE;
COMMENT ON COLUMN "candidate"."p_value" IS 'The chance that a clause covers as many positive atoms of the part that was not searched, beyond those of clauses kept before it, times the number of clauses that were tested; NULL if it was not tested.';

DROP VIEW IF EXISTS "found_clauses";

CREATE VIEW "found_clauses" AS
SELECT clause, positives, negatives, score, p_value, in_theory, atom_name AS seed, literals, candidate AS id, run
FROM candidate
WHERE run = (SELECT max(run) FROM candidate)
ORDER BY in_theory DESC NULLS LAST, score DESC NULLS LAST, positives DESC NULLS LAST, id ASC NULLS LAST;
COMMENT ON VIEW "found_clauses" IS 'Clauses that the newest run of ILP found: its theory, then the others, the best first.';
COMMENT ON COLUMN "found_clauses"."clause" IS 'The clause as text.';
COMMENT ON COLUMN "found_clauses"."positives" IS 'Positive atoms that it covers.';
COMMENT ON COLUMN "found_clauses"."negatives" IS 'Negative atoms that it covers.';
COMMENT ON COLUMN "found_clauses"."score" IS 'Its score when it was found.';
COMMENT ON COLUMN "found_clauses"."p_value" IS 'The chance that a clause covers as many positive atoms of the part that was not searched, beyond those of clauses kept before it, times the number of clauses that were tested; NULL if it was not tested.';
COMMENT ON COLUMN "found_clauses"."in_theory" IS 'True if it is in the theory.';
COMMENT ON COLUMN "found_clauses"."seed" IS 'The positive atom in whose bottom clause it was found first.';
COMMENT ON COLUMN "found_clauses"."literals" IS 'Number of its literals, with the head.';
COMMENT ON COLUMN "found_clauses"."id" IS 'Number of the clause within the run.';
COMMENT ON COLUMN "found_clauses"."run" IS 'Run.';
