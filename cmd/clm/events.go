package main

const eventSchema = ""
