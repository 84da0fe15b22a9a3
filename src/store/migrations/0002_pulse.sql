-- Written to find out whether the store can be written.
CREATE TABLE pulse (
    id BIGINT PRIMARY KEY,
    at BIGINT NOT NULL
);
