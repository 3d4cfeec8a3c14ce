-- Rights of a steward: the functions and triggers are made anew after this, from the description of the schema. A charge is
-- made by statements of the client alone; discreet.charge and discreet.answer are gone.

CREATE INDEX IF NOT EXISTS unconcluded ON discreet.reservations (lease) WHERE state = 'RESERVED';
